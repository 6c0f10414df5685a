// style: functional
const retry = (fn, n) => fn().catch((e) => (n > 1 ? retry(fn, n - 1) : Promise.reject(e)));
const keys = ['a', 'b', 'c'];
const settled = await Promise.allSettled(keys.map((key, i) => retry(() => tools.unstable({ key, failures: i * 2 }), 3)));
return settled.map((s, i) => ({
  key: keys[i],
  attempt: s.status === 'fulfilled' ? s.value.attempt : null,
  reason: s.status === 'rejected' ? s.reason.message : undefined,
}));
