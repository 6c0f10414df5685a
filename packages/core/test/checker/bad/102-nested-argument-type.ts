// line: 5
// about: string[]
const { contact } = await tools.crm.contacts.update({
  id: 'c3',
  changes: { tags: 'vip,eu', score: 70 },
});
return contact.tags;
