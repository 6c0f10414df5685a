// style: functional
const { orders } = await tools.listOrders({ pageSize: 20 });
return orders.reduce((acc, order) => {
  acc[order.userId] = acc[order.userId] || { orders: 0, spent: 0 };
  acc[order.userId].orders++;
  acc[order.userId].spent += order.total;
  return acc;
}, {});
