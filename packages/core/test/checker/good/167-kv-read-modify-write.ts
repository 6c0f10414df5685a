// style: JSON shuffling
const settings = await tools.kv.get({ key: 'settings' });
const next = { ...settings, flags: { ...settings.flags, dark: true }, version: (settings.version ?? 0) + 1 };
const { ok, replaced } = await tools.kv.set({ key: 'settings', value: next, ttlSeconds: 60 });
const { keys } = await tools.kv.list({ prefix: 's' });
const stored = await tools.kv.get({ key: keys[0] });
return { ok, replaced, flags: Object.keys(stored.flags), version: stored.version };
