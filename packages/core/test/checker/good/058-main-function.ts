// style: everything in main
async function main() {
  const { matches } = await tools.searchFiles({ pattern: 'TODO' });
  const more = await tools.searchFiles({ pattern: 'FIXME' });
  const all = [...matches, ...more.matches];
  return all.map((m) => `${m.filePath}:${m.line} ${m.text.replace(/^\/\/\s*/, '')}`);
}
return await main();
