// line: 12
// about: process
const { exitCode, stdout, stderr } = await tools.runCommand({ command: ['git', 'status', '--short'] });
if (exitCode !== 0) {
  throw new Error(stderr);
}
const files = stdout
  .split('\n')
  .map((line) => line.slice(3).trim())
  .filter((name) => name.length > 0);
console.log(JSON.stringify({ files, dirty: files.length > 0 }));
process.exit(files.length > 0 ? 1 : 0);
