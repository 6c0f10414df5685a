// line: 5
// about: createIssue
const { matches } = await tools.searchFiles({ pattern: 'FIXME' });
for (const match of matches) {
  await tools.createIssue({ repo: 'acme/app', title: match.text.slice(0, 60), body: match.filePath });
}
return matches.length;
