// line: 4
// about: join
const { stdout } = await tools.runCommand({ command: ['git', 'status', '--short'] });
return stdout.join('\n');
