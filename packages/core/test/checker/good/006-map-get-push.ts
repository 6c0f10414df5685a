// style: plain JavaScript
const users = await tools.listUsers();
const byRole = new Map();
for (const user of users) {
  if (!byRole.has(user.role)) byRole.set(user.role, []);
  byRole.get(user.role).push(user.name);
}
return Object.fromEntries(byRole);
