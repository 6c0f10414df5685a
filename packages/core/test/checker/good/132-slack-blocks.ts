// style: typed
const blocks = [];
const { prs } = await tools.list_open_prs({ repo: 'acme/app' });
for (const pr of prs.filter((p) => !p.draft)) {
  blocks.push({ type: 'section', text: `#${pr.number} ${pr.title} (+${pr.additions}/-${pr.deletions})` });
  blocks.push({ type: 'divider' });
}
blocks.pop();
const post = await tools.slack.post_message({ channel: '#reviews', text: `${prs.length} open`, blocks, thread_ts: null });
return { ok: post.ok, ts: post.ts, blocks: blocks.length };
