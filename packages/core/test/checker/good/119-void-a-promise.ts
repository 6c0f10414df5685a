// style: deliberate about promises
const pending = tools.kv.set({ key: 'later', value: { done: true } });
void pending.then(() => console.log('saved'));
const names = (await tools.listUsers({ role: 'member' })).map((u) => u.name);
await pending;
return { names, saved: (await tools.kv.get({ key: 'later' })).done };
