// line: 5
// about: Promise
const members = tools.listUsers({ role: 'member' });
const admins = await tools.listUsers({ role: 'admin' });
const everyone = [...members, ...admins];
return everyone.map((m) => m.name).sort();
