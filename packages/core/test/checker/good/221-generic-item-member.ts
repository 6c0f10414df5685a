// style: generic item member
function total<T>(items: T[]): number { return items.reduce((sum, i) => sum + i.total, 0); }
const { orders } = await tools.listOrders({});
return total(orders);
