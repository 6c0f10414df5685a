// style: functional
const counts = new Map([['a', 3], ['b', 0], ['c', 7]]);
const { issues } = await tools.github.listIssues({ repo: 'acme/app', state: 'all', perPage: 50 });
const evens = issues.values().filter((i) => i.number % 2 === 0).map((i) => i.title).take(2).toArray();
const busy = counts.entries().filter(([, n]) => n > 0).map(([k]) => k).toArray();
return { evens, busy };
