import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/**
 * Runs Node to its end.
 *
 * @param {string[]} args
 * @param {Record<string, string>} [environment] Added to this process's own.
 * @returns {Promise<{ stdout: string, stderr: string, wallMs: number }>} Rejects if the exit status is not 0.
 */
export function runNode(args, environment = {}) {
  return new Promise((resolve, reject) => {
    const began = performance.now();
    const child = spawn(process.execPath, args, {
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stdout = '';
    let stderr = '';
    let wallMs = 0;
    child.stdout.setEncoding('utf8').on('data', (text) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text) => (stderr += text));
    child.on('error', reject);
    child.on('exit', () => (wallMs = performance.now() - began));
    child.on('close', (status) => {
      if (status === 0) resolve({ stdout, stderr, wallMs });
      else reject(new Error(`node ${args.join(' ')} ended with ${status}: ${stderr.slice(0, 2_000)}`));
    });
  });
}

/** Runs one of the scripts in `children/`, which prints one JSON value. */
export async function runChild(name, args = []) {
  const { stdout, wallMs } = await runNode([fileURLToPath(new URL(`children/${name}`, import.meta.url)), ...args]);
  return { ...JSON.parse(stdout), wallMs };
}
