// style: plain JavaScript
const field = 'score';
const { items } = await tools.crm.contacts.list({ limit: 5 });
const index = {};
for (const item of items) index[`${item.id}-${field}`] = item[field];
const max = Object.keys(index).reduce((a, b) => (index[a] >= index[b] ? a : b));
const changes = { [field]: index[max] + 1 };
const { contact } = await tools.crm.contacts.update({ id: max.split('-')[0], changes });
return { max, now: contact.score };
