// style: then chains
const outcome = await tools.getOrder({ orderId: 'nope' }).then(
  (order) => ({ found: true, total: order.total }),
  (error) => ({ found: false, reason: error.message }),
);
return outcome;
