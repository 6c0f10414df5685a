// line: 17
// about: orderID
// Refund every paid order of the user that is older than two weeks.
const user = await tools.get_user({ id: 3 });
const { orders } = await tools.listOrders({ userId: user.id, status: 'paid' });
const { epochMs } = await tools.now();
const twoWeeks = 14 * 24 * 3600 * 1000;

const refunds = [];
for (const order of orders) {
  const age = epochMs - new Date(order.placedAt).getTime();
  if (age < twoWeeks) {
    console.log(`skipping ${order.id}`);
    continue;
  }
  const refund = await tools.refundOrder({
    orderID: order.id,
    amount: order.total,
    reason: 'late',
  });
  refunds.push({ id: refund.refundId, ok: refund.status === 'accepted' });
}
return { user: user.name, refunds };
