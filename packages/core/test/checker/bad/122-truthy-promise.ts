// line: 4
// about: always
// may: warn
if (tools.stat({ filePath: 'out.txt' })) {
  return 'exists';
}
return 'missing';
