// line: 4
// about: ;
const users = await tools.listUsers();
const names = [u.name for u in users];
return names;
