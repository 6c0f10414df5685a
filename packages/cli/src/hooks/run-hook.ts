import { spawn, type ChildProcess } from 'node:child_process';
import { isAbsolute } from 'node:path';
import type { Hook } from '../configuration/schema.js';
import { visibleLine } from '../terminal/untrusted.js';
import { shortDuration } from '../view/values.js';

/** Default time limit of a hook, in ms. */
const TIMEOUT_MS = 10_000;
/** The maximum length of the reason that a hook writes, in UTF-16 code units. */
const MAX_REASON_LENGTH = 500;

/**
 * Runs a command of the user in the workspace, with `facts` as JSON on stdin, and without the user's secrets in its
 * environment. Returns the reason for its failure; undefined if it ended with status 0. Never rejects.
 */
export async function runHook(hook: Hook, facts: object, workspace: string): Promise<string | undefined> {
  const [program = '', ...args] = hook.command;
  const name = visibleLine(program);
  // defence: hooks-are-no-programs-of-the-workspace
  if (program.includes('/') && !isAbsolute(program))
    return `The hook ${name} has a relative path. Write an absolute path, or the name of a program on PATH.`;
  const { childEnvironment } = await import('@toolscript/tools/internal');
  const env = childEnvironment(process.env, {});
  const timeoutMs = hook.timeoutMs ?? TIMEOUT_MS;
  return new Promise((resolve) => {
    let stderr = '';
    const child = spawn(program, args, { cwd: workspace, env, detached: true, stdio: ['pipe', 'ignore', 'pipe'] });
    const late = setTimeout(() => {
      endGroup(child);
      resolve(
        `The hook ${name} did not end within ${shortDuration(timeoutMs)}. Make it faster, or raise its timeoutMs.`,
      );
    }, timeoutMs);
    const settle = (reason: string | undefined) => {
      clearTimeout(late);
      resolve(reason);
    };
    child.on('error', (error) => settle(`The hook ${name} could not be started (${visibleLine(error.message)}).`));
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      if (stderr.length < MAX_REASON_LENGTH) stderr += text;
    });
    child.on('close', (status, signal) => settle(status === 0 ? undefined : endReason(name, stderr, status ?? signal)));
    // A hook need not read its input.
    child.stdin.on('error', () => {});
    child.stdin.end(`${JSON.stringify(facts)}\n`);
  });
}

function endReason(name: string, stderr: string, end: number | string | null): string {
  const said = visibleLine(stderr.trim().slice(0, MAX_REASON_LENGTH));
  return said === '' ? `The hook ${name} ended with ${end}.` : said;
}

/** Ends the hook and the programs that it started. */
function endGroup(child: ChildProcess): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  } catch {
    child.kill('SIGKILL');
  }
}
