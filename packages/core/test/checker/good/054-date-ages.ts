// style: functional
const { epochMs } = await tools.now();
const { issues } = await tools.github.listIssues({ repo: 'acme/app', perPage: 20 });
const DAY = 24 * 60 * 60 * 1000;
return issues
  .map((i) => ({ number: i.number, days: Math.floor((epochMs - new Date(i.createdAt).getTime()) / DAY) }))
  .filter(({ days }) => days > 60)
  .toSorted((a, b) => a.days - b.days);
