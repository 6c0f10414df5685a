// line: 12
// about: subtotal
const { orders } = await tools.listOrders({ pageSize: 20 });
let grandTotal = 0;

for (const order of orders) {
  if (order.status === 'refunded') continue;
  for (const line of order.lines) {
    const subtotal = line.quantity * line.unitPrice;
    if (order.discount) console.log(`${order.id} has a discount`);
  }
  grandTotal += subtotal;
}

return Math.round(grandTotal * 100) / 100;
