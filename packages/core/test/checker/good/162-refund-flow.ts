// style: agent at work
const { orders } = await tools.listOrders({ status: 'paid', pageSize: 20 });
const refunds = [];
for (const order of orders) {
  const late = new Date('2024-05-01') - new Date(order.placedAt) > 14 * 864e5;
  if (!late) continue;
  const { refundId, status } = await tools.refundOrder({ orderId: order.id, amount: order.total * 0.1, reason: 'late' });
  refunds.push({ refundId, status, to: (await tools.get_user({ id: order.userId })).email });
}
return refunds;
