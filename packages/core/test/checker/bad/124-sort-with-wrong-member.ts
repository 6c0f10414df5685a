// line: 4
// about: createdDate
const { issues } = await tools.github.listIssues({ repo: 'acme/app', perPage: 10 });
const sorted = [...issues].sort((a, b) => a.createdDate.localeCompare(b.createdDate));
return sorted.map((i) => i.number);
