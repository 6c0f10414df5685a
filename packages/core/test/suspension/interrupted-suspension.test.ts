import { expect, it } from 'vitest';
import { memoryStore } from '#core/index.js';
import { RunInterruption } from '#core/protocol/run-interruption.js';
import type { SandboxRuntime } from '#core/protocol/index.js';
import { QuickJsPool } from '#core/sandbox/index.js';
import { failureOf, open } from './world.js';

it('a script whose run is interrupted while its memory is captured is interrupted, which is no fault', async () => {
  const stop = new AbortController();
  const pool = new QuickJsPool({ size: 1 });
  const runtime: SandboxRuntime = {
    name: 'interrupted after each capture',
    warm: () => pool.warm(),
    run: (job, observer) => {
      const run = pool.run(job, observer);
      const capture = async () => {
        const captured = await run.capture!();
        stop.abort(new RunInterruption());
        return captured;
      };
      return { settle: run.settle.bind(run), cancel: run.cancel.bind(run), capture };
    },
    stats: () => pool.stats(),
    close: () => pool.close(),
  };
  const store = memoryStore();
  const faults: string[] = [];
  const harness = open({ runtime, store, onInternalError: (detail) => faults.push(detail) });
  const outcome = await harness.runScript('return await tools.note({ text: "a" })', { signal: stop.signal });
  expect(failureOf(outcome).code).toBe('StoreError');
  expect(faults).toEqual([]);
  expect((await store.journal.list({ state: 'suspended' })).scripts).toEqual([]);
});
