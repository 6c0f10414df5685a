// line: 3
// about: operator
const greeting = 'It's a nice day';
const { messageId } = await tools.sendEmail({ to: ['a@b.example'], subject: greeting, body: '' });
return messageId;
