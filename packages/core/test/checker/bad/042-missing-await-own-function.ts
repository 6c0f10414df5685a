// line: 9
// about: length
async function loadNames() {
  const users = await tools.listUsers();
  return users.map((u) => u.name);
}

const names = loadNames();
text(`There are ${names.length} users`);
return (await names).join(', ');
