// line: 3,5
// about: editFiles
const { readFile, editFiles } = tools;
const before = await readFile({ filePath: 'src/math.ts' });
const { applied } = await editFiles({
  filePath: 'src/math.ts',
  edits: [{ find: 'FIXME', replace: 'TODO' }],
});
return { applied, before: before.size };
