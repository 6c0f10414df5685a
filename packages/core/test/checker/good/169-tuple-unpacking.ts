// style: terse
const [users, { deals }, now] = await Promise.all([tools.listUsers(), tools.crm.deals.list({}), tools.now()]);
const [[head], ...tail] = [users, deals];
return { head: head.name, tail: tail[0].length, year: now.iso.slice(0, 4) };
