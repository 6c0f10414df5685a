// style: terse, own variables named like globals
const context = 'ci';
const status = 'green';
const event = { status, context };
const length = 3;
const top = await tools.search.web({ query: 'status', limit: length });
const origin = top.results[0].url;
const performance = top.total;
return { event, origin, performance };
