// line: 4
// about: await
const { content } = await tools.readFile({ filePath: 'README.md' });
tools.writeFile({ filePath: 'README.bak', content });
const copy = await tools.stat({ filePath: 'README.bak' });
return copy.exists;
