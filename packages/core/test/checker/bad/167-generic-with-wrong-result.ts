// line: 22
// about: hasMore
// may: warn
interface Paged<T> {
  items: T[];
  next?: number;
}

async function all<T>(load: (page: number) => Promise<Paged<T>>): Promise<T[]> {
  const out: T[] = [];
  let page: number | undefined = 1;
  while (page !== undefined) {
    const result: Paged<T> = await load(page);
    out.push(...result.items);
    page = result.next;
  }
  return out;
}

const issues = await all(async (page) => {
  const list = await tools.github.listIssues({ repo: 'acme/app', page });
  return { items: list.issues, next: list.hasMore ? page + 1 : undefined };
});
return issues.map((issue) => issue.number);
