// line: 6
// about: order
const { orders } = await tools.listOrders({ status: 'pending' });
let total = 0;
for (const item of orders) {
  total += order.total;
}
return total;
