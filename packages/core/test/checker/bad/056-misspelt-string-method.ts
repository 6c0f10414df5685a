// line: 4
// about: includesIgnoreCase
const { results } = await tools.search.web({ query: 'quickjs', limit: 5 });
const guides = results.filter((r) => r.title.includesIgnoreCase('guide'));
return guides.map((g) => g.url);
