// style: agent at work
const results = [];
for (const command of [['echo', 'hi', 'there'], ['nope'], ['echo']]) {
  const r = await tools.runCommand({ command, timeoutMs: 1000 });
  results.push({ command: command[0], ok: r.exitCode === 0, out: (r.stdout || r.stderr).trim() });
}
const failed = results.filter((r) => !r.ok);
return { failed: failed.length, results };
