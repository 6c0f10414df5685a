// line: 5
// about: map
const ids = ['c1', 'c2'];
const contacts = Promise.all(ids.map((id) => tools.crm.contacts.get({ id })));
return contacts.map((c) => c.name).join(', ');
