// style: destructure default
const { items = [], total = 0 } = await tools.crm.contacts.list({ limit: 3 });
return { n: items.length, total };
