// style: plain JavaScript
const result = await tools.listOrders({ pageSize: 20 });
const totals = {};
for (const order of result.orders) {
  if (!totals[order.status]) totals[order.status] = { count: 0, sum: 0 };
  totals[order.status].count += 1;
  totals[order.status].sum += order.total;
}
return totals;
