// style: plain JavaScript
function describe(status) {
  let parts = [];
  switch (status) {
    case 'refunded':
      parts.push('money back');
    case 'shipped':
      parts.push('sent');
    case 'paid':
      parts.push('paid');
      break;
    default:
      parts = ['waiting'];
  }
  return parts.join(', ');
}
const { orders } = await tools.listOrders({ pageSize: 4 });
return orders.map((o) => describe(o.status));
