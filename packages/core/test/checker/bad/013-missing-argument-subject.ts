// line: 5
// about: subject
const { items } = await tools.crm.contacts.list({ limit: 50 });
const to = items.filter((c) => c.tags.includes('vip') && c.email).map((c) => c.email!);
const mail = await tools.sendEmail({ to, body: 'Thank you for being with us.' });
return mail.accepted.length;
