// line: 3,5
// about: content
const { content } = await tools.readFile({ filePath: 'src/index.ts' });
const imports = content.split('\n').filter((l) => l.startsWith('import'));
const { content } = await tools.readFile({ filePath: 'src/math.ts' });
return { imports, size: content.length };
