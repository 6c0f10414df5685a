// line: 3
// about: users
const { users } = await tools.listUsers({ role: 'member' });
return users.map((user) => user.email);
