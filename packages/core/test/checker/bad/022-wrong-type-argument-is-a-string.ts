// line: 3
// about: string
const readme = await tools.readFile(['README.md']);
return readme.content.split('\n').length;
