// line: 5
// about: iterator
const result = await tools.searchFiles({ pattern: 'add', folder: 'src' });
const lines: string[] = [];
for (const match of result) {
  lines.push(`${match.filePath}:${match.line}`);
}
return lines;
