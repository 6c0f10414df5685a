// style: names of tools without their namespace
const { matches } = await tools.searchFiles({ pattern: 'export' });
const opened = [];
for (const match of matches.slice(0, 2)) {
  opened.push(await tools.createIssue({ repo: 'acme/app', title: match.text.slice(0, 60), body: match.filePath }));
}
return opened.map((issue) => issue.number);
