// line: 13
// about: contains
const seen = new Set<string>();
const duplicates: string[] = [];
let page = 1;
let pageCount = 1;

do {
  const result = await tools.listOrders({ page, pageSize: 3 });
  pageCount = result.pageCount;
  for (const order of result.orders) {
    for (const { sku } of order.lines) {
      if (seen.contains(sku)) duplicates.push(sku);
      seen.add(sku);
    }
  }
  page += 1;
} while (page <= pageCount);

return { skus: [...seen].sort(), duplicates: duplicates.length };
