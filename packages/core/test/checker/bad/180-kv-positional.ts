// line: 7
// about: number
const runs = (await tools.kv.get({ key: 'runs' })) ?? 0;
const started = (await tools.now()).iso;

const saved = await tools.kv.set({ key: 'runs', value: runs + 1 });
const last = await tools.kv.set('lastRun', started, { silent: true });

return { runs: runs + 1, replaced: saved.replaced, ok: last.ok };
