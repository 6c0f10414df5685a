// line: 8
// about: forEach
// may: warn
const { matches } = await tools.searchFiles({ pattern: 'a', folder: 'src' });
const paths = [...new Set(matches.map((m) => m.filePath))];
const sizes = {};

paths.forEach(async (filePath) => {
  const { content } = await tools.readFile({ filePath });
  const trimmed = content
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
  await tools.writeFile({ filePath, content: trimmed });
  sizes[filePath] = trimmed.length;
});

return { files: paths.length, sizes };
