// style: typed
type SortKey = 'name' | 'score';
const compare =
  <T,>(...keys: Array<(item: T) => string | number>) =>
  (a: T, b: T) => {
    for (const key of keys) {
      const [x, y] = [key(a), key(b)];
      if (x < y) return -1;
      if (x > y) return 1;
    }
    return 0;
  };
const { items } = await tools.crm.contacts.list({ limit: 5 });
const key: SortKey = 'name';
const byCompany = [...items].sort(compare((c) => c.company?.name ?? '~', (c) => -c.score));
const byKey = items.toSorted((a, b) => (a[key] > b[key] ? -1 : 1));
return [byCompany.map((c) => c.id), byKey.map((c) => c.id)];
