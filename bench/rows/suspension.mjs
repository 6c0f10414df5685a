import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { createHarness, defineTool, fileStore } from '@toolscript/core';
import { alternate, timeRuns } from '../measure.mjs';
import { runChild } from '../processes.mjs';

const MEGABYTE = 1_000_000;
const SCRIPTS = [
  {
    what: 'small',
    title: 'with one call',
    source: 'return (await tools.ask({ n: 1 })).n',
    answer: 1,
    limit: 15,
    bytes: 50,
  },
  {
    what: 'megabyte',
    title: 'that has read 1 MB',
    source: 'const text = await tools.read({}); await tools.ask({ n: 1 }); return text.length',
    answer: MEGABYTE,
  },
  {
    what: 'five',
    title: 'with five calls at once',
    source: 'return (await Promise.all([1, 2, 3, 4, 5].map((n) => tools.ask({ n })))).length',
    answer: 5,
    limit: 15,
    bytes: 50,
  },
];

export const name = 'suspension';

/** The time to suspend a script to a file store and to resume it, and the memory of a waiting one. */
export async function measure({ effort }) {
  const folder = mkdtempSync(join(tmpdir(), 'toolscript-bench-suspension-'));
  const keeps = open({ store: fileStore(folder) });
  const decides = open({ approvals: 'auto' });
  try {
    await Promise.all([keeps.warm(), decides.warm()]);
    const rows = [];
    for (const script of SCRIPTS) rows.push(...(await measureScript(script, keeps, decides, effort)));
    return [...rows, await measureWaiting()];
  } finally {
    await Promise.all([keeps.close(), decides.close()]);
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measureScript({ what, title, source, answer, limit, bytes }, keeps, decides, effort) {
  const suspend = async () => {
    const outcome = await keeps.runScript(source);
    assert.equal(outcome.status, 'suspended');
    return outcome;
  };
  const approved = async () => (await decides.runScript(source)).value;
  const timed = { forMs: effort.blockMs };
  const suspending = await alternate(
    {
      name: `suspend-${what}`,
      title: `from the start of a script ${title} to its stored bytes`,
      unit: 'ms',
      better: 'lower',
      limit,
    },
    [
      {
        name: 'toolscript',
        role: 'ours',
        block: () => timeRuns(async () => (await suspend()).status, 'suspended', timed),
      },
      { name: 'approved at once', role: 'part', block: () => timeRuns(approved, answer, timed) },
    ],
    effort.rounds,
  );
  const resuming = await alternate(
    {
      name: `resume-${what}`,
      title: `from a suspension of a script ${title} to its end`,
      unit: 'ms',
      better: 'lower',
      limit,
    },
    [{ name: 'toolscript', role: 'ours', block: () => timeResumes(suspend, keeps, answer, effort) }],
    effort.rounds,
  );
  const { suspension } = await suspend();
  const stored = await alternate(
    { name: `stored-${what}`, title: `suspension of a script ${title}`, unit: 'KB', better: 'lower', limit: bytes },
    [{ name: 'toolscript', role: 'ours', block: () => [suspension.length / 1000] }],
    1,
  );
  return [suspending, resuming, stored];
}

async function timeResumes(suspend, harness, answer, effort) {
  const samples = [];
  for (const until = performance.now() + effort.blockMs; performance.now() < until || samples.length === 0;) {
    const { suspension, pendingApprovals } = await suspend();
    const decisions = Object.fromEntries(pendingApprovals.map(({ approvalId }) => [approvalId, 'approve']));
    const started = performance.now();
    const { value } = await harness.resume(suspension, decisions);
    samples.push(performance.now() - started);
    assert.equal(value, answer);
  }
  return samples;
}

/** Measures in a separate process, so that no other memory counts. */
async function measureWaiting() {
  const { ran, megabytes, running } = await runChild('suspended.mjs', ['1000']);
  assert.ok(ran, 'the scripts were not put aside');
  assert.equal(running, 0, 'a script that waits holds a sandbox');
  return alternate(
    {
      name: 'suspended-memory',
      title: 'memory of 1 000 scripts that wait, held as text',
      unit: 'MB',
      better: 'lower',
      limit: 100,
    },
    [{ name: 'toolscript', role: 'ours', block: () => [megabytes] }],
    1,
  );
}

function open(options) {
  const any = z.object({ n: z.number() });
  const tools = [
    defineTool({
      name: 'ask',
      description: 'Asks',
      input: any,
      approval: 'always',
      effect: 'external',
      execute: ({ n }) => ({ n }),
    }),
    defineTool({
      name: 'read',
      description: 'Reads',
      input: z.object({}),
      approval: 'never',
      effect: 'read',
      execute: () => prose,
    }),
  ];
  return createHarness({ tools, suspensionKey: 'a key of the benchmark, 32 bytes or more', ...options });
}

/** Text that compresses like prose, not like one repeated letter. */
const prose = Array.from({ length: MEGABYTE / 10 }, (_, index) =>
  `${((index * 2_654_435_761) % 999_983).toString(36)}       `.slice(0, 9),
)
  .join(' ')
  .padEnd(MEGABYTE, '.')
  .slice(0, MEGABYTE);
