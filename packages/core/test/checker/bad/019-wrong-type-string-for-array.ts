// line: 5
// about: to
const user = await tools.get_user({ id: 1 });
const sent = await tools.sendEmail({
  to: user.email,
  subject: 'Report',
  body: `Hello ${user.name}, the report is ready.`,
});
return sent.messageId;
