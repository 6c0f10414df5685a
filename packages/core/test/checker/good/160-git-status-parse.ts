// style: agent at work
const { stdout, exitCode, stderr } = await tools.runCommand({ command: ['git', 'status', '--porcelain'], cwd: context.workingDirectory });
if (exitCode !== 0) return { error: stderr };
const groups = { modified: [], added: [], untracked: [] };
for (const line of stdout.split('\n')) {
  const m = line.match(/^(..) (.+)$/);
  if (!m) continue;
  const [, code, file] = m;
  if (code === '??') groups.untracked.push(file);
  else if (code.includes('A')) groups.added.push(file);
  else groups.modified.push(file);
}
return groups;
