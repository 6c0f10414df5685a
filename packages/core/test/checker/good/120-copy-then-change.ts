// style: spreads
const user = await tools.get_user({ id: 1 });
const copy = { ...user, settings: { ...user.settings, theme: 'light' }, extra: true };
const { email, ...publicUser } = copy;
const tags = [...(await tools.crm.contacts.get({ id: 'c1' })).tags, 'new'];
const { contact, updated } = await tools.crm.contacts.update({ id: 'c1', changes: { tags, ...(email ? { score: 90 } : {}) } });
return { publicUser: Object.keys(publicUser).length, theme: copy.settings.theme, tags: contact.tags, updated };
