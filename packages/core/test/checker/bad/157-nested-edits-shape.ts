// line: 14
// about: replace
const renames = [
  { from: 'total', to: 'sum' },
  { from: 'add', to: 'plus' },
];
const touched: string[] = [];

for (const filePath of ['src/index.ts', 'src/math.ts']) {
  const { exists } = await tools.stat({ filePath });
  if (!exists) continue;
  const { applied } = await tools.editFile({
    filePath,
    edits: renames.map(({ from, to }) => ({ find: from, replacement: to })),
  });
  if (applied > 0) touched.push(filePath);
}
return touched;
