// line: 4
// about: _
const { orders } = await tools.listOrders({ pageSize: 20 });
const groups = _.groupBy(orders, 'status');
const totals = _.mapValues(groups, (list) => _.sumBy(list, 'total'));
return totals;
