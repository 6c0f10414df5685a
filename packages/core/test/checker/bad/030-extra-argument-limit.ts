// line: 3
// about: limit
const { orders } = await tools.listOrders({ userId: 1, status: 'paid', limit: 10 });
return orders.map(({ id, total }) => ({ id, total }));
