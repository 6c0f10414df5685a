// style: closures
const makeCounter = (start = 0, step) => {
  let value = start;
  return { next: () => (value += step || 1), reset() { value = start; }, get value() { return value; } };
};
const page = makeCounter();
const titles = [];
while (true) {
  const { issues, nextPage } = await tools.github.listIssues({ repo: 'acme/app', page: page.next(), perPage: 2 });
  titles.push(...issues.map((i) => i.title));
  if (!nextPage) break;
}
return { titles, pages: page.value };
