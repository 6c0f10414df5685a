// line: 16
// about: getOrders
async function mapLimit<T, R>(items: readonly T[], limit: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const queue = items.map((item, index) => ({ item, index }));
  const lanes = Array.from({ length: limit }, async () => {
    for (let job = queue.shift(); job !== undefined; job = queue.shift()) {
      results[job.index] = await work(job.item);
    }
  });
  await Promise.all(lanes);
  return results;
}

const userIds = [1, 2, 3];
const pages = await mapLimit(userIds, 2, (userId) => tools.getOrders({ userId, pageSize: 10 }));
const totals = pages.map((page) => page.orders.reduce((sum, order) => sum + order.total, 0));
return Object.fromEntries(userIds.map((id, index) => [id, totals[index]]));
