// line: 5
// about: list
const { matches } = await tools.searchFiles({ pattern: 'FIXME' });

const { deals } = await tools.list({ stage: 'won' });
return { todo: matches.length, deals: deals.length };
