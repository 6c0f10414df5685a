// line: 19
// about: recipents
interface Recipient {
  email: string;
  firstName: string;
}

const template = 'Hello {{firstName}},\n\nsee you soon!';
const fill = (recipient: Recipient): string =>
  template.replace(/{{(\w+)}}/g, (_, key: keyof Recipient) => recipient[key]);

const users = await tools.listUsers({ active: true });
const recipients: Recipient[] = users.map((user) => ({
  email: user.email,
  firstName: user.name.split(' ')[0] ?? user.name,
}));

const ids: string[] = [];
for (const recipient of recipents) {
  const { messageId } = await tools.sendEmail({ to: [recipient.email], subject: 'Party', body: fill(recipient) });
  ids.push(messageId);
}
return ids;
