import { describe, expect, it, vi } from 'vitest';
import { failureOf, openHarness, sharedHarness, valueOf } from './open-harness.js';
import { sampleTools } from './sample-tools.js';

const { harness } = sharedHarness();

describe('a cancellation', () => {
  const cancelAfter = (ms: number) => {
    const stop = new AbortController();
    setTimeout(() => stop.abort(), ms);
    return stop.signal;
  };

  it('ends a script in a loop', async () => {
    const outcome = await harness.runScript('while (true) {}', { signal: cancelAfter(50) });
    expect(failureOf(outcome)).toMatchObject({ code: 'ScriptCancelledError', retryable: false });
  });

  it('ends a script while its tool runs, and the tool with it', async () => {
    const { tools, deeds, started } = sampleTools();
    const own = openHarness({ tools });
    const stop = new AbortController();
    const running = own.runScript('await tools.echo({ value: 1 }); await tools.wait({ ms: 60_000 })', {
      signal: stop.signal,
    });
    await started('wait');
    stop.abort();
    const outcome = await running;
    expect(failureOf(outcome).code).toBe('ScriptCancelledError');
    expect(outcome.operations.map(({ status }) => status)).toEqual(['completed', 'aborted']);
    expect(deeds.at(-1)!.what).toBe('aborted');
  });

  it('cannot be caught by the script', async () => {
    const outcome = await harness.runScript(
      'for (;;) try { await tools.wait({ ms: 60_000 }); } catch { await tools.echo({ value: "caught" }); } finally { for (;;); }',
      { signal: cancelAfter(50) },
    );
    expect(failureOf(outcome).code).toBe('ScriptCancelledError');
    expect(outcome.operations.map(({ tool }) => tool)).not.toContain('echo');
  });

  it('before the start runs nothing', async () => {
    const { tools, deeds } = sampleTools();
    const own = openHarness({ tools });
    expect(failureOf(await own.runScript('await tools.echo({ value: 1 })', { signal: AbortSignal.abort() })).code).toBe(
      'ScriptCancelledError',
    );
    expect(deeds).toEqual([]);
  });

  it('ends a script that waits for a free sandbox', async () => {
    const { tools, release, started } = sampleTools();
    const own = openHarness({ tools, workers: { size: 1, slotsPerWorker: 1 } });
    const first = own.runScript('await tools.hold(); return "first"');
    await started('hold');
    const stop = new AbortController();
    const second = own.runScript('return await tools.echo({ value: "never" })', { signal: stop.signal });
    await vi.waitUntil(() => own.stats().sandbox.waiting === 1);
    stop.abort();
    expect(failureOf(await second)).toMatchObject({ code: 'ScriptCancelledError' });
    expect((await second).operations).toEqual([]);
    release();
    expect(valueOf(await first)).toBe('first');
    expect(valueOf(await own.runScript('return 3'))).toBe(3);
    expect(own.stats().sandbox).toMatchObject({ running: 0, waiting: 0 });
  });
});
