// line: 6
// about: null
// may: warn
const contact = await tools.crm.contacts.get({ id: 'c2' });
const sent = await tools.sendEmail({
  to: [contact.email],
  subject: 'Hello',
  body: `Dear ${contact.name}`,
});
return sent.rejected;
