// style: promises by hand
let resolveIt;
const ready = new Promise((resolve) => {
  resolveIt = resolve;
});
const consumer = ready.then((value) => `got ${value}`);
const { result } = await tools.calculate({ expression: '8 - 3' });
resolveIt(result);
const { promise, resolve } = Promise.withResolvers();
resolve('second');
return [await consumer, await promise];
