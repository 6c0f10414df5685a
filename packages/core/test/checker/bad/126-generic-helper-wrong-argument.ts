// line: 12
// about: pageNumber
async function collect<T>(load: (page: number) => Promise<{ items: T[]; more: boolean }>): Promise<T[]> {
  const all: T[] = [];
  for (let page = 1; ; page++) {
    const { items, more } = await load(page);
    all.push(...items);
    if (!more) return all;
  }
}
const orders = await collect(async (page) => {
  const result = await tools.listOrders({ pageNumber: page });
  return { items: result.orders, more: page < result.pageCount };
});
return orders.length;
