// line: 4
// about: lenght
const { issues } = await tools.github.listIssues({ repo: 'acme/app', state: 'all' });
if (issues.lenght === 0) {
  return 'nothing to do';
}
return issues.map((i) => i.number);
