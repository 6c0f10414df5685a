// line: 5
// about: post_message
const { issues } = await tools.github.listIssues({ repo: 'acme/app' });
const lines = issues.map((i) => `• ${i.title}`);
await tools.jira.post_message({ channel: '#dev', text: lines.join('\n') });
return lines.length;
