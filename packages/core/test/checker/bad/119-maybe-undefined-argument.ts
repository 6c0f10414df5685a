// line: 7
// about: undefined
// may: warn
const { items } = await tools.crm.contacts.list({ limit: 5 });
const withoutPhone = items.find((c) => c.name === 'Finn Gray');
const sent = await tools.sendEmail({
  to: [withoutPhone?.phone],
  subject: 'Call us',
  body: 'We lost your number.',
});
return sent.accepted;
