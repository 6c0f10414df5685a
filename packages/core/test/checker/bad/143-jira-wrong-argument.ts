// line: 9
// about: maxResults
const projects = ['OPS', 'WEB'];
const summary = {};

for (const project of projects) {
  const { issues, total } = await tools.jira.search_issues({
    project,
    maxResults: 50,
  });
  summary[project] = {
    total,
    high: issues.filter((issue) => issue.priority === 'high').length,
    estimated: issues.filter((issue) => issue.points !== null).length,
  };
}
return summary;
