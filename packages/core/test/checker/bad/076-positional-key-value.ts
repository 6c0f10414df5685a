// line: 4
// about: string
const before = await tools.kv.get({ key: 'counter' });
await tools.kv.set(12, 'counter');
return before;
