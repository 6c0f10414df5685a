// style: options default with shape
const run = (o = { retries: 1 }) => { return o.retries + (o.delay ? o.delay : 0) + o.extra; }; return run({ retries: 2, delay: 2, extra: 1 });
