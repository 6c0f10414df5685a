// line: 4
// about: listFiles
// Count the source files.
const { entries } = await tools.listFiles({ path: 'src' });
const files = entries.filter((e) => e.type === 'file');
console.log(`${files.length} files`);
return files.length;
