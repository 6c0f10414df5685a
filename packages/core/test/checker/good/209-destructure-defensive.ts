// style: destructure defensive
const page = await tools.crm.contacts.list({ limit: 3 });
const { items, results, data } = page;
const list = items ?? results ?? data ?? [];
return list.length;
