// line: 5
// about: await
// may: warn
const { content } = await tools.readFile({ filePath: 'README.md' });
tools.writeFile({ filePath: 'README.bak', content });
const copy = await tools.stat({ filePath: 'README.bak' });
return copy.exists;
