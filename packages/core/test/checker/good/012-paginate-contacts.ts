// style: terse
const all = [];
let cursor;
do {
  const page = await tools.crm.contacts.list({ cursor, limit: 2 });
  all.push(...page.items);
  cursor = page.nextCursor;
} while (cursor);
return all.map((c) => c.name);
