// line: 6
// about: domain
const { results } = await tools.search.web({
  query: 'wasm sandbox',
  limit: 5,
  filters: { domain: 'docs.example', since: '2024-01-01' },
});
return results.map((r) => r.title);
