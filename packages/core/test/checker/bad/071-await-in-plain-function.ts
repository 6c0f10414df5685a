// line: 6
// about: await
function loadAll(paths) {
  const out = [];
  for (const filePath of paths) {
    out.push(await tools.readFile({ filePath }));
  }
  return out;
}
const files = await loadAll(['README.md', 'src/math.ts']);
return files.length;
