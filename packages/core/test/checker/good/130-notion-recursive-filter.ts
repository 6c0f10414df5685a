// style: typed
const drafts = { property: 'status', equals: 'draft' };
const { results } = await tools.notion.query_database({
  database_id: 'db',
  filter: { and: [drafts, { and: [{ property: 'archived', equals: false }] }] },
});
const votes = results.map((page) => Number(page.properties.votes) + (page.properties.votes as number));
return { titles: results.map((p) => p.title), votes };
