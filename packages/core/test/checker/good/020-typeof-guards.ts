// style: defensive
const raw = await tools.kv.get({ key: 'counter' });
const counter = typeof raw === 'number' ? raw : typeof raw === 'string' ? parseInt(raw, 10) : 0;
if (Number.isNaN(counter)) {
  throw new TypeError('counter is not a number');
}
const saved = await tools.kv.set({ key: 'counter', value: counter + 1 });
if (saved && saved.ok === true && typeof saved.replaced === 'boolean') {
  return { counter: await tools.kv.get({ key: 'counter' }), replaced: saved.replaced };
}
return { counter, replaced: false };
