// style: plain JavaScript
const report = { open: [], closed: [], byAuthor: {} };
const { issues } = await tools.github.listIssues({ repo: 'acme/app', state: 'all', perPage: 50 });
for (const issue of issues) {
  report[issue.state].push(issue.number);
  report.byAuthor[issue.author.login] = (report.byAuthor[issue.author.login] || []).concat(issue.number);
}
report.total = issues.length;
return report;
