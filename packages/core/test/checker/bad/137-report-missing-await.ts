// line: 10
// about: totalCount
const repo = 'acme/app';
const labels = ['bug', 'docs', 'feature'];
const lines = ['| label | open | all |', '|---|---|---|'];

for (const label of labels) {
  const open = await tools.github.listIssues({ repo, labels: [label] });
  const all = tools.github.listIssues({ repo, labels: [label], state: 'all' });
  lines.push(`| ${label} | ${open.totalCount} | ${all.totalCount} |`);
}

const markdown = lines.join('\n');
await tools.writeFile({ filePath: 'labels.md', content: markdown });
text(markdown);
return { message: `labels.md has ${lines.length - 2} rows` };
