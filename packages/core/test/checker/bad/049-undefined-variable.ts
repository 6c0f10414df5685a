// line: 6
// about: repository
const repo = 'acme/app';
const { issues } = await tools.github.listIssues({ repo });
const report = {
  repo: repository,
  open: issues.length,
};
return report;
