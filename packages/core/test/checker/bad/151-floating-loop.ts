// line: 11
// about: await
// may: warn
const { items } = await tools.crm.contacts.list({ limit: 50 });
let changed = 0;

for (const contact of items) {
  if (!contact.email) continue;
  const email = contact.email.toLowerCase();
  if (email === contact.email) continue;
  tools.crm.contacts.update({ id: contact.id, changes: { email } });
  changed += 1;
}

const after = await tools.crm.contacts.get({ id: 'c4' });
return { changed, email: after.email };
