// style: terse
const { orders } = await tools.listOrders({ pageSize: 20 });
const discounted = orders.find((o) => o.discount);
return { id: discounted.id, percent: discounted.discount.percent };
