// line: 4
// about: argument
const before = await tools.kv.get({ key: 'counter' });
await tools.kv.set('counter', before + 1);
return before;
