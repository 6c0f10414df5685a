// line: 4
// about: for
const users = await tools.listUsers();
const names = [u.name for u in users];
return names;
