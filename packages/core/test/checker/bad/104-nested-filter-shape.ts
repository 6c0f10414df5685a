// line: 5
// about: or
const { results } = await tools.notion.query_database({
  database_id: 'db1',
  filter: { or: [{ property: 'status', equals: 'draft' }] },
});
return results.map((page) => page.title);
