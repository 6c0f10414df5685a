// line: 5
// about: overlap
// may: warn
const { orders } = await tools.listOrders({ pageSize: 20 });
const done = orders.filter((order) => order.status === 'completed');
return { done: done.length, total: orders.length };
