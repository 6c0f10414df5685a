// line: 4
// about: userId
const ids = [1, 2, 3];
const users = await Promise.all(ids.map((userId) => tools.get_user({ userId })));
return users.map((user) => user.name);
