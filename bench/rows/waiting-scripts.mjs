import assert from 'node:assert/strict';
import { z } from 'zod';
import { createHarness, defineTool } from '@toolscript/core';
import { alternate, timeRuns } from '../measure.mjs';
import { runChild } from '../processes.mjs';

const WAITING = 500;

export const name = 'waiting-scripts';

/** The cost of scripts that only wait for their tools: the slowdown of other scripts, and memory. */
export async function measure({ effort }) {
  const crowded = new WaitingHarness();
  const idle = new WaitingHarness();
  try {
    await idle.harness.warm();
    await crowded.fill(WAITING);
    const start = (harness) => () =>
      timeRuns(async () => (await harness.runScript('return 1')).value, 1, { forMs: effort.blockMs });
    const row = {
      name: 'waiting-new-script',
      title: `a new script while ${WAITING} others on two workers wait for tools`,
      unit: 'ms',
      better: 'lower',
      limit: 100,
      limitOf: 'p99',
      notes: ['idle pool: the same script where nothing waits'],
    };
    const started = await alternate(
      row,
      [
        { name: 'toolscript', role: 'ours', block: start(crowded.harness) },
        { name: 'idle pool', role: 'baseline', block: start(idle.harness) },
      ],
      effort.rounds,
    );
    await crowded.answer();
    return [started, await measureMemory()];
  } finally {
    await Promise.all([crowded.harness.close(), idle.harness.close()]);
  }
}

/** Measures in a separate process, so that no other memory counts. */
async function measureMemory() {
  const { ran, megabytes } = await runChild('waiting.mjs', [String(WAITING)]);
  assert.ok(ran, 'a script that waited has not got its answer');
  const row = {
    name: 'waiting-memory',
    title: 'memory of a script that waits for a tool',
    unit: 'MB',
    better: 'lower',
  };
  return alternate({ ...row, limit: 1.5 }, [{ name: 'toolscript', role: 'ours', block: () => [megabytes] }], 1);
}

/** A harness whose scripts wait until the row answers their calls. */
class WaitingHarness {
  #answer = () => {};
  #called = () => {};
  #runs = [];

  constructor() {
    const answered = new Promise((resolve) => (this.#answer = resolve));
    const wait = defineTool({
      name: 'wait',
      description: 'Waits',
      input: z.object({}),
      approval: 'never',
      effect: 'read',
      execute: () => {
        this.#called();
        return answered;
      },
    });
    const workers = { size: 2, queueWaitMs: 600_000 };
    this.harness = createHarness({ tools: [wait], workers, limits: { timeoutMs: 600_000 } });
  }

  async fill(count) {
    let called = 0;
    const full = new Promise((resolve) => {
      this.#called = () => {
        if (++called === count) resolve();
      };
    });
    this.#runs = Array.from({ length: count }, () => this.harness.runScript('return await tools.wait({})'));
    await full;
  }

  async answer() {
    this.#answer(1);
    for (const { value } of await Promise.all(this.#runs)) assert.equal(value, 1);
  }
}
