// style: spreads
const { orders } = await tools.listOrders({ pageSize: 2 });
const draft = structuredClone(orders);
draft[0].total = 0;
draft.push({ ...draft[0], id: 'copy' });
const again = JSON.parse(JSON.stringify(draft));
again.forEach((o) => (o.note = 'checked'));
return { before: orders[0].total, after: draft[0].total, ids: again.map((o) => o.id + ':' + o.note) };
