// style: callback parameter incomplete
const { orders } = await tools.listOrders({});
return orders.map((o: { id: string }) => `${o.id}: ${o.status}`);
