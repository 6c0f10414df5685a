// style: defensive
const { issues, total } = await tools.jira.search_issues({ project: ['OPS', 'WEB'], max_results: 5 });
return issues.map((i) => ({
  key: i.key,
  who: i.assignee?.email ?? i.assignee?.name ?? i.reporter?.name ?? '(nobody)',
  points: typeof i.points === 'number' ? i.points : `of ${total}`,
}));
