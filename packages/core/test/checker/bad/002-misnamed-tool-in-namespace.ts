// line: 5
// about: searchIssues
const repo = 'acme/app';
const open = await tools.github.listIssues({ repo });
const bugs = await tools.github.searchIssues({ repo, labels: ['bug'] });
return { open: open.totalCount, bugs: bugs.totalCount };
