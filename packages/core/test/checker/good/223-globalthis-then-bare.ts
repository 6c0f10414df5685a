// style: globalthis then bare
globalThis.cache = new Map();
cache.set('a', 1);
return cache.get('a');
