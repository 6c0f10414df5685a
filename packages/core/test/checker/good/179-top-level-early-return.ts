// style: terse
const { issues } = await tools.github.listIssues({ repo: 'acme/none' });
if (!issues.length) return { message: 'no issues', issues };
issues.sort((a, b) => a.number - b.number);
return issues[0];
