// line: 4
// about: argument
const pattern = 'export';
const found = await tools.searchFiles({ pattern }, { folder: 'src', maxResults: 5 });

const byFile = {};
for (const { filePath, line } of found.matches) {
  byFile[filePath] ??= [];
  byFile[filePath].push(line);
}
return byFile;
