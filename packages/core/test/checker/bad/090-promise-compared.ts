// line: 5
// about: Promise
// may: warn
const exists = tools.stat({ filePath: 'notes.md' }).then((s) => s.exists);
if (exists === true) {
  await tools.deleteFile({ filePath: 'notes.md' });
}
return 'cleaned';
