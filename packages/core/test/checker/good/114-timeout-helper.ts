// style: typed
class TimeoutError extends Error {
  override name = 'TimeoutError';
}
function withTimeout<T>(work: Promise<T>, ms: number): Promise<T> {
  return Promise.race([
    work,
    sleep(ms).then((): never => {
      throw new TimeoutError(`no answer in ${ms} ms`);
    }),
  ]);
}
const fast = await withTimeout(tools.now(), 5000);
let slow: string;
try {
  await withTimeout(sleep(3000), 5);
  slow = 'finished';
} catch (error) {
  slow = error instanceof TimeoutError ? error.message : 'other';
}
return { day: fast.iso.slice(0, 10), slow };
