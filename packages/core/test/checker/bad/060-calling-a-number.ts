// line: 4
// about: callable
const list = await tools.github.listIssues({ repo: 'acme/app' });
return { total: list.totalCount(), shown: list.issues.length };
