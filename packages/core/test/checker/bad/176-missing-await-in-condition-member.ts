// line: 5
// about: exists
const target = 'out/summary.md';
const info = tools.stat({ filePath: target });
if (info.exists) {
  console.log('replacing', target);
  await tools.deleteFile({ filePath: target });
}

const { issues } = await tools.github.listIssues({ repo: 'acme/app' });
const lines = issues.map((issue) => `- ${issue.title}`);
const { created } = await tools.writeFile({ filePath: target, content: lines.join('\n') });
return created;
