// style: plain JavaScript
let best;
let worst;
const { orders } = await tools.listOrders({ pageSize: 20 });
orders.forEach((order) => {
  if (!best || order.total > best.total) best = order;
  if (!worst || order.total < worst.total) worst = order;
});
console.log('best order is', best.id);
return { best: best.id, worst: worst.id, spread: best.total - worst.total };
