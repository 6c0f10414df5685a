// line: 6
// about: fliter
const { results } = await tools.search.web({ query: 'sandbox', limit: 5 });

const urls = results
  .fliter((result) => result.score > 0.3)
  .map((result) => result.url)
  .sort();

return { urls, count: urls.length };
