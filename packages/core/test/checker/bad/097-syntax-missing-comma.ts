// line: 5,6
// about: ,
const mail = {
  to: ['ada@acme.example'],
  subject: 'Hello'
  body: 'How are you?',
};
return (await tools.sendEmail(mail)).messageId;
