// style: closures
const memo = (fn) => {
  const cache = {};
  let calls = 0;
  const wrapped = (id) => {
    if (!(id in cache)) {
      calls++;
      cache[id] = fn(id);
    }
    return cache[id];
  };
  wrapped.calls = () => calls;
  return wrapped;
};
const getUser = memo((id) => tools.get_user({ id }));
const { orders } = await tools.listOrders({ pageSize: 20 });
const names = await Promise.all(orders.map((o) => getUser(o.userId).then((u) => u.name.split(' ')[0])));
return { names, calls: getUser.calls() };
