// style: agent at work
const filePath = 'src/math.ts';
const edits = [
  { find: 'a: number, b: number', replace: '...numbers: number[]' },
  { find: 'return a + b;', replace: 'return numbers.reduce((sum, n) => sum + n, 0);' },
];
const { applied, content } = await tools.editFile({ filePath, edits });
if (applied !== edits.length) throw new Error(`only ${applied} of ${edits.length} edits applied`);
const after = await tools.readFile({ filePath });
return { same: after.content === content, line: after.content.split('\n')[1].trim() };
