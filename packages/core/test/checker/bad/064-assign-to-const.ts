// line: 9
// about: page
const page = 1;
const all = [];
while (true) {
  const { orders, pageCount } = await tools.listOrders({ page });
  all.push(...orders);
  if (page >= pageCount) break;
  page++;
}
return all.length;
