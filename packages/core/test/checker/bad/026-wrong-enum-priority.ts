// line: 3
// about: urgent
const { issues } = await tools.jira.search_issues({ project: 'OPS', priority: 'urgent' });
return issues.map((issue) => issue.key);
