// line: 3
// about: issues
const { issues } = tools.github.listIssues({ repo: 'acme/app', perPage: 10 });
const byLabel = {};
for (const issue of issues) {
  for (const label of issue.labels) byLabel[label] = (byLabel[label] || 0) + 1;
}
return byLabel;
