// line: 6
// about: user_id
const managers = new Map();

for (const id of [2, 3, 4]) {
  const user = await tools.get_user({ user_id: id });
  if (!user.manager) continue;
  const reports = managers.get(user.manager.name) ?? [];
  managers.set(user.manager.name, [...reports, user.name]);
}

return Object.fromEntries(managers);
