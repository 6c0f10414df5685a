// style: has own property method
const r = await tools.crm.contacts.list({});
const list = r.hasOwnProperty('results') ? r.results : r.items;
return list.length;
