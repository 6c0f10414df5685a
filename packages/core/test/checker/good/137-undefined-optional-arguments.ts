// style: plain JavaScript, undefined for what is not given
async function orders(userId, status) {
  const r = await tools.listOrders({ userId, status, page: undefined });
  return r.orders.length;
}
return [await orders(), await orders(1), await orders(undefined, 'paid'), await orders(2, 'shipped')];
