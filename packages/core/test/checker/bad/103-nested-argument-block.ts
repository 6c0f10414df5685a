// line: 8
// about: content
const post = await tools.slack.post_message({
  channel: '#ops',
  text: 'Deploy finished',
  blocks: [
    { type: 'section', text: 'All green' },
    { type: 'section', content: 'in 42 s' },
    { type: 'divider' },
  ],
});
return post.ts;
