// line: 3
// about: iterator
const members = [...tools.listUsers({ role: 'member' }), ...(await tools.listUsers({ role: 'admin' }))];
return members.map((m) => m.name).sort();
