// style: typed, without checks
const counts = new Map<string, number>();
const { results } = await tools.search.web({ query: 'map', limit: 5 });
for (const { url } of results) {
  const host = new URL(url).hostname.split('.').pop()!;
  counts.set(host, 0);
}
for (const { url } of results) {
  const host = new URL(url).hostname.split('.').pop()!;
  counts.set(host, counts.get(host) + 1);
}
return [...counts.entries()];
