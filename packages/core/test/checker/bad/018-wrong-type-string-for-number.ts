// line: 3
// about: number
const who = await tools.get_user({ id: '2' });
return `${who.name} <${who.email}>`;
