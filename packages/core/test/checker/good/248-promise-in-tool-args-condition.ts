// style: promise in tool args condition
const pending = tools.now();
await tools.kv.set({ key: 'k', value: { started: pending ? true : false } });
return (await pending).iso;
