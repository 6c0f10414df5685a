// line: 5,8,9
// about: }
const { orders } = await tools.listOrders({});
for (const order of orders) {
  if (order.status === 'paid') {
    console.log(order.id);
}
return orders.length;
