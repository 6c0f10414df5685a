// style: over-typed TypeScript
const value: unknown = await tools.kv.get({ key: 'names' });
const names = value as ReadonlyArray<string>;
const upper = (names as string[]).map((name): string => name[0].toUpperCase() + name.slice(1));
const fallback = <string[]>(await tools.kv.get({ key: 'absent' })) ?? ['nobody'];
return { upper, fallback };
