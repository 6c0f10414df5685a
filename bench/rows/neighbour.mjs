import assert from 'node:assert/strict';
import { createHarness, defineTool } from '@toolscript/core';
import { z } from 'zod';
import { alternate } from '../measure.mjs';

/** About half a second of computing. */
const HOG = 'let sum = 0; for (let i = 0; i < 6_000_000; i++) sum += i % 7; return sum';
const NEIGHBOURS = 8;
const CALLS = 30;

export const name = 'neighbour';

/** The maximum delay of scripts that call tools while others on the same two workers compute for long. */
export async function measure({ effort }) {
  const row = {
    name: 'neighbour-wait',
    title: `worst time between two tool calls to ${NEIGHBOURS} scripts beside two that compute`,
    unit: 'ms',
    better: 'lower',
    limit: 100,
    notes: ['alone: the same scripts with nobody beside them'],
  };
  const gaps = { worst: 0 };
  const last = new Map();
  const tick = defineTool({
    name: 'tick',
    description: 'Notes the time',
    input: z.object({ name: z.number() }),
    effect: 'read',
    execute({ name }) {
      const now = performance.now();
      if (last.has(name)) gaps.worst = Math.max(gaps.worst, now - last.get(name));
      last.set(name, now);
      return name;
    },
  });
  const harness = createHarness({ tools: [tick], limits: { maxToolCalls: 1000, computeMs: 30_000 } });
  await harness.warm();
  const block = async (hogs) => {
    gaps.worst = 0;
    last.clear();
    const neighbours = Array.from({ length: NEIGHBOURS }, (_, name) =>
      harness.runScript(
        `for (let i = 0; i < ${CALLS}; i++) { await tools.tick({ name: ${name} }); await sleep(5); } return 1`,
      ),
    );
    const computing = Array.from({ length: hogs }, () => harness.runScript(HOG));
    for (const { status } of await Promise.all([...neighbours, ...computing])) assert.equal(status, 'completed');
    return [gaps.worst];
  };
  try {
    await block(1);
    return [
      await alternate(
        row,
        [
          { name: 'toolscript', role: 'ours', block: () => block(2) },
          { name: 'alone', role: 'baseline', block: () => block(0) },
        ],
        effort.rounds,
      ),
    ];
  } finally {
    await harness.close();
  }
}
