// line: 7
// about: append
const open: number[] = [];
const { issues } = await tools.github.listIssues({ repo: 'acme/app', state: 'all', perPage: 20 });
for (const issue of issues) {
  if (issue.state === 'open' && issue.comments === 0) {
    open.append(issue.number);
  }
}
return open;
