// line: 11
// about: string
const { results } = await tools.notion.query_database({ database_id: 'roadmap' });
const active = results.filter((page) => page.properties.status === 'active');

const lines = active.map((page, index) => `${index + 1}. ${page.title}`);
if (lines.length === 0) return 'nothing is active';

const { ts, warning } = await tools.slack.post_message({
  channel: '#roadmap',
  text: lines,
});
if (warning) console.warn(warning);
return ts;
