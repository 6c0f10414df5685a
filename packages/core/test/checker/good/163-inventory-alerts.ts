// style: agent at work
const skus = new Set();
for (let page = 1, last = 1; page <= last; page++) {
  const result = await tools.listOrders({ page });
  last = result.pageCount;
  result.orders.flatMap((o) => o.lines).forEach((l) => skus.add(l.sku));
}
const { stock } = await tools.getInventory({ skus: [...skus] });
const low = Object.entries(stock).filter(([, n]) => n < 10).map(([sku]) => sku);
if (low.length) await tools.slack.post_message({ channel: '#stock', text: `Low: ${low.join(', ')}` });
return { low, checked: skus.size };
