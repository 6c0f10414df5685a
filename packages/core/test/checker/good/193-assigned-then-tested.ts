// style: assigned then tested
const r = await tools.crm.contacts.list({});
const results = r.results;
const list = results ? results : r.items;
return list.length;
