// line: 3,5
// about: data
const data = await tools.readFile({ filePath: 'README.md' });
const head = data.content.slice(0, 10);
const data = await tools.readFile({ filePath: 'package.json' });
return head + data.content.length;
