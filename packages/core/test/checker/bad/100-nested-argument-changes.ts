// line: 8
// about: status
const closed = [];
for (const number of [1, 2]) {
  const issue = await tools.github.updateIssue({
    repo: 'acme/app',
    number,
    changes: { status: 'closed' },
  });
  closed.push(issue.number);
}
return closed;
