// line: 8
// about: Record<string
const orders = (await tools.listOrders({ status: 'shipped' })).orders;
const ids = orders.map((order) => order.id);

const { jobId } = await tools.jobs.start({
  kind: 'export',
  payload: ids.join(','),
});

const status = await tools.jobs.status({ jobId });
return `${status.state} ${status.progress}%`;
