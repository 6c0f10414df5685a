// style: plain JavaScript
let ids = [];
ids['total'] = 0;
const { orders } = await tools.listOrders({ pageSize: 4 });
for (var o of orders) {
  ids.push(o.id);
  ids.total += o.total;
}
var o = 'done';
return { ids: ids.slice(), total: ids.total, o };
