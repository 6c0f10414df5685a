// line: 6
// about: forEach
// may: warn
const { issues } = await tools.github.listIssues({ repo: 'acme/app', labels: ['bug'] });
let done = 0;
issues.forEach(async (issue) => {
  await tools.github.addComment({ repo: 'acme/app', number: issue.number, body: 'Triaged.' });
  done++;
});
return done;
