// line: 13
// about: changed_mind
const reasons = { o1: 'late', o2: 'damaged' } as const;
const report: string[] = [];

for (const orderId of Object.keys(reasons) as Array<keyof typeof reasons>) {
  const order = await tools.getOrder({ orderId });
  if (order.status === 'refunded') continue;
  const { status } = await tools.refundOrder({ orderId, amount: order.total / 2, reason: reasons[orderId] });
  report.push(`${orderId}: ${status}`);
}

const extra = await tools.refundOrder({ orderId: 'o7', amount: 1, reason: 'changed_mind' });
report.push(`o7: ${extra.status}`);
return report;
