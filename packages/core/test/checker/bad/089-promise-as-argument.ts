// line: 4
// about: Promise
const source = tools.readFile({ filePath: 'src/math.ts' }).then((file) => file.content.toUpperCase());
const { written } = await tools.writeFile({ filePath: 'src/upper.ts', content: source });
return written;
