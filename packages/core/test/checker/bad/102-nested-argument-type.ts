// line: 5
// about: tags
const { contact } = await tools.crm.contacts.update({
  id: 'c3',
  changes: { tags: 'vip,eu', score: 70 },
});
return contact.tags;
