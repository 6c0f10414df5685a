// style: closures, promises by hand
let tail: Promise<unknown> = Promise.resolve();
const order: number[] = [];
function locked<T>(work: () => Promise<T>): Promise<T> {
  const run = tail.then(work, work);
  tail = run.catch(() => {});
  return run;
}
async function increment(by: number) {
  const before = (await tools.kv.get({ key: 'counter' })) as number;
  await tools.kv.set({ key: 'counter', value: before + by });
  order.push(by);
  return before + by;
}
const results = await Promise.all([1, 10, 100].map((by) => locked(() => increment(by))));
return { results, order };
