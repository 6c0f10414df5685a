// line: 8
// about: number
// may: warn
function pad(value: string, width: number): string {
  return value.padStart(width, ' ');
}
const { orders } = await tools.listOrders({});
const lines = orders.map((order) => `${pad(order.id, 6)} ${pad(order.total, 10)}`);
return lines.join('\n');
