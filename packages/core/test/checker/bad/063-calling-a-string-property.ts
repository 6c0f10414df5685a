// line: 5
// about: call
const user = await tools.get_user({ id: 4 });
const manager = await tools.get_user({ id: 1 });
return `${user.name()} reports to ${manager.name}`;
