// line: 6
// about: opened
const all = [];
let page: number | null = 1;
while (page) {
  const result = await tools.github.listIssues({ repo: 'acme/app', state: 'opened', page });
  all.push(...result.issues);
  page = result.nextPage;
}
return all.length;
