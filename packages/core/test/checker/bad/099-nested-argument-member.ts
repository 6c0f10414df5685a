// line: 7
// about: replacement
const result = await tools.editFile({
  filePath: 'src/index.ts',
  edits: [
    { find: 'total', replace: 'sum', all: true },
    { find: '// TODO: remove', replacement: '' },
  ],
});
return result.applied;
