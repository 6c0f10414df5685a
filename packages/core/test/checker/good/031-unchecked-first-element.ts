// style: terse
const { results } = await tools.search.web({ query: 'typescript', limit: 1 });
const first = results[0];
const last = results.at(-1);
return { same: first.url === last.url, snippet: first.snippet.length, popped: [...results].pop().title };
