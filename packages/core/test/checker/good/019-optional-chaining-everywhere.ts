// style: defensive
const res = await tools?.github?.listIssues?.({ repo: 'acme/app' });
const issues = Array.isArray(res?.issues) ? res.issues : [];
const names = issues
  .filter((issue) => issue != null && typeof issue.title === 'string')
  .map((issue) => issue?.assignee?.login ?? issue?.author?.login ?? 'nobody');
return names.length > 0 ? names : ['none'];
