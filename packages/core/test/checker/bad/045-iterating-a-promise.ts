// line: 5
// about: Promise
const names = [];
const users = tools.listUsers({ active: true });
for (const user of users) {
  names.push(user.name);
}
return names;
