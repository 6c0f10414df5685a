// line: 4
// about: data
const response = await tools.github.listIssues({ repo: 'acme/app' });
const issues = response.data;
return issues.length;
