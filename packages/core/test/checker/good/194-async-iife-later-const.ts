// style: async iife later const
const p = (async () => { await sleep(1); return base * 2; })();
const base = 21;
return await p;
