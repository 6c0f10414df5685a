// line: 4
// about: length
const { size } = await tools.readFile({ filePath: 'README.md' });
return size.length > 100 ? 'long' : 'short';
