// line: 5
// about: threshold
const { orders } = await tools.listOrders({ pageSize: 20 });
const big = orders.filter((o) => o.total > 0).length;
console.log(`over ${threshold}: ${big}`);
const threshold = 50;
return orders.filter((o) => o.total > threshold).length;
