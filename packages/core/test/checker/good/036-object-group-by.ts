// style: functional
const { issues } = await tools.github.listIssues({ repo: 'acme/app', state: 'all', perPage: 50 });
const groups = Object.groupBy(issues, (issue) => issue.author.login);
const ages = Map.groupBy(issues, (issue) => issue.createdAt.slice(0, 7));
return {
  authors: Object.entries(groups).map(([login, list]) => `${login}: ${list.length}`),
  months: [...ages.keys()],
  ada: groups.ada.map((i) => i.number),
};
