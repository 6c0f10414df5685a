import { readdirSync, readFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { QuickJsPool } from '#core/sandbox/index.js';
import { createHarness } from '#core/index.js';
import { afterAll, expect, it } from 'vitest';

const SIZE = 2;
const before = new Set(threads());
const runtime = new QuickJsPool({ size: SIZE });
const harness = createHarness({ tools: [], runtime, typecheck: 'off' });

afterAll(async () => {
  await harness.close();
  await runtime.close();
});

function threads(): string[] {
  return process.platform === 'linux' ? readdirSync('/proc/self/task') : [];
}

/** The 19th field of a thread's line; the second field is its name, in parentheses. */
function priorityOf(thread: string): number {
  const line = readFileSync(`/proc/self/task/${thread}/stat`, 'utf8');
  return Number(line.slice(line.lastIndexOf(')') + 2).split(' ')[16]);
}

it.skipIf(process.platform !== 'linux')(
  'each thread of scripts has a lower priority than the host, and no other thread has',
  async () => {
    const scripts = Array.from({ length: 8 }, () => harness.runScript('return 1'));
    for (const { status } of await Promise.all(scripts)) expect(status).toBe('completed');
    const started = threads().filter((thread) => !before.has(thread));
    const lower = started.filter((thread) => priorityOf(thread) > getPriority());
    expect(lower).toHaveLength(SIZE);
    expect(lower.map(priorityOf)).toEqual(Array.from({ length: SIZE }, () => Math.min(19, getPriority() + 10)));
  },
);
