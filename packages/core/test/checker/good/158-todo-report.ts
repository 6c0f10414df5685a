// style: agent at work
const todos = await tools.searchFiles({ pattern: 'TODO', folder: 'src' });
const fixmes = await tools.searchFiles({ pattern: 'FIXME', folder: 'src' });
const all = todos.matches.concat(fixmes.matches);
let md = '# Open ends\n\n';
for (const m of all) md += `- ${m.filePath}:${m.line}: ${m.text.trim()}\n`;
const { created } = await tools.writeFile({ filePath: 'OPEN.md', content: md });
const issue = await tools.github.createIssue({ repo: 'acme/app', title: `${all.length} open ends`, body: md, assignee: null });
return { created, message: `wrote OPEN.md and opened ${issue.url}` };
