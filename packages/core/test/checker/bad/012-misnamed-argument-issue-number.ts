// line: 8
// about: issue_number
const repo = 'acme/app';
const { issues } = await tools.github.listIssues({ repo, labels: ['bug'] });
let commented = 0;
for (const issue of issues) {
  if (issue.comments > 0) continue;
  await tools.github.addComment({ repo, issue_number: issue.number, body: 'Any news?' });
  commented++;
}
return commented;
