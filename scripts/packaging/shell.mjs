// Runs programs for the packaging tests. Each function returns the program's output, or throws with the output before
// the failure.
import { spawn, spawnSync } from 'node:child_process';
import { createServer } from 'node:net';

const BUILD_MS = 300_000;

/** Runs a program to its end. Throws with its output if it fails. */
export function run(command, args, { cwd, env = {} }) {
  const result = spawnSync(command, args, {
    cwd,
    env: { ...process.env, ...env },
    encoding: 'utf8',
    timeout: BUILD_MS,
    maxBuffer: 64 << 20,
  });
  if (result.status === 0) return result.stdout.trim();
  const said = `${result.stdout ?? ''}${result.stderr ?? ''}`.trim().split('\n').slice(-15).join('\n');
  throw new Error(`${command} ${args.join(' ')} ended with ${result.signal ?? result.status}:\n${said}`);
}

/** Starts a server that listens on the port in `PORT`, or that its arguments name, returns its answer, and kills it. */
export async function answerOf(command, args, { cwd, path }) {
  const port = await freePort();
  const env = { ...process.env, PORT: String(port), HOSTNAME: '127.0.0.1' };
  const own = typeof args === 'function' ? args(port) : args;
  const server = spawn(command, own, { cwd, env, stdio: 'ignore' });
  let failure;
  server.once('error', (error) => (failure = error));
  try {
    for (let attempt = 0; attempt < 60; attempt++) {
      if (failure !== undefined) throw failure;
      const answer = await fetch(`http://127.0.0.1:${port}${path}`).catch(() => undefined);
      if (answer !== undefined) return await answer.text();
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
    throw new Error('The server does not answer. Look at its output above.');
  } finally {
    server.kill('SIGKILL');
  }
}

function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}
