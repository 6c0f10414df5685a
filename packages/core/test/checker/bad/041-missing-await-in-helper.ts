// line: 5
// about: total
async function orderTotal(orderId: string): Promise<number> {
  const order = tools.getOrder({ orderId });
  return order.total * 1.2;
}
const totals = await Promise.all(['o1', 'o2'].map(orderTotal));
return totals;
