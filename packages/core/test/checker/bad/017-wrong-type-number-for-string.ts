// line: 6
// about: number
const { orders } = await tools.listOrders({ pageSize: 20 });
const details = [];
for (let i = 0; i < orders.length; i++) {
  details.push(await tools.getOrder({ orderId: i }));
}
return details.map((d) => d.total);
