// line: 9
// about: fields
// Jira usually keeps everything under "fields".
const found = await tools.jira.search_issues({ project: 'OPS', priority: 'high' });
const rows = [];
for (const issue of found.issues) {
  rows.push({
    key: issue.key,
    summary: issue.fields.summary,
    assignee: issue.assignee ? issue.assignee.name : 'unassigned',
  });
}
rows.sort((a, b) => a.key.localeCompare(b.key));
text(rows.map((row) => `${row.key} ${row.summary}`).join('\n'));
return rows.length;
