// style: plain JavaScript, values of several types
const { results, has_more } = await tools.notion.query_database({ database_id: 'db' });
const total = results.reduce((sum, page) => sum + page.properties.votes, 0);
const upper = results.map((page) => page.properties.status.toUpperCase());
return { total, upper, has_more };
