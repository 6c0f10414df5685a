// style: functional
const steps = ['1 + 1', '2 * 5', '9 - 4'];
const total = await steps.reduce(async (previous, expression) => {
  const sum = await previous;
  const { result } = await tools.calculate({ expression });
  return sum + result;
}, Promise.resolve(0));
const history = await steps.reduce(
  (p, expression) => p.then((list) => tools.calculate({ expression }).then((r) => [...list, r.result])),
  Promise.resolve([]),
);
return { total, history };
