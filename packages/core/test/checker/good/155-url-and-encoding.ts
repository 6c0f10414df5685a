// style: terse
const url = new URL('https://shop.example/items?sort=price');
url.searchParams.set('page', '2');
const res = await tools.fetchPage({ url: url.toString(), cursor: url.searchParams.get('page') });
const token = btoa(JSON.stringify({ ids: res.body.items.map((i) => i.id) }));
const bytes = new TextEncoder().encode(atob(token)).length;
return { path: url.pathname, header: res.headers['x-page'], bytes, query: url.search };
