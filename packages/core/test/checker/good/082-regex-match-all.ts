// style: functional
const { content } = await tools.readFile({ filePath: 'README.md' });
const tasks = [...content.matchAll(/^- \[(?<mark>[ x])\] (?<title>.+)$/gm)].map(({ groups }) => ({
  title: groups.title,
  done: groups.mark === 'x',
}));
return { open: tasks.filter((t) => !t.done).map((t) => t.title), done: tasks.filter((t) => t.done).length };
