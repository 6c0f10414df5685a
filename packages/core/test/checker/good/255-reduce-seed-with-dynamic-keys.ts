// style: reduce seed with dynamic keys
const { orders } = await tools.listOrders({});
const by = orders.reduce((acc, o) => { acc[o.status] = (acc[o.status] || 0) + o.total; acc.count++; return acc; }, { count: 0 });
return by.paid + by.count;
