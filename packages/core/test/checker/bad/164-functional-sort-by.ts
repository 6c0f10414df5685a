// line: 7
// about: sortBy
const users = await tools.listUsers({ active: true });

return users
  .filter((user) => user.lastLogin !== null)
  .sortBy((user) => user.lastLogin)
  .map((user) => `${user.name} (${user.lastLogin})`);
