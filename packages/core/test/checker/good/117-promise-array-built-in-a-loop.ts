// style: plain JavaScript
const promises = [];
for (let id = 1; id <= 4; id++) {
  promises.push(tools.get_user({ id }));
}
const users = await Promise.all(promises);
const emails = users.map((u) => u.email);
const jobs = {};
for (const u of users) jobs[u.id] = u.active ? tools.crm.deals.list({ stage: 'open' }) : null;
const open = await jobs[1];
return { emails, open: open.deals.length };
