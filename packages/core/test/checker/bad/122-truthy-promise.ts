// line: 4
// about: await
// may: warn
if (tools.stat({ filePath: 'out.txt' })) {
  return 'exists';
}
return 'missing';
