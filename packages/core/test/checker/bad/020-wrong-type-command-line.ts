// line: 3
// about: string[]
const status = await tools.runCommand({ command: 'git status --short' });
if (status.exitCode !== 0) throw new Error(status.stderr);
const changed = status.stdout
  .split('\n')
  .filter(Boolean)
  .map((line) => line.slice(3));
return { changed, count: changed.length };
