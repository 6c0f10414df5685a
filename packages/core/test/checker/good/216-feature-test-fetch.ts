// style: feature test fetch
const res = globalThis.fetch ? await fetch('https://x.y') : await tools.fetchPage({ url: 'https://x.y' });
return res.status;
