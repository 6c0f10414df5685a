import { describe, expect, it } from 'vitest';
import type { HarnessOptions } from '#core/index.js';
import { collect, failureOf, openHarness, valueOf } from '../harness/open-harness.js';
import { sampleTools } from '../harness/sample-tools.js';
import { callOf, RETURNED, untrueRuntime, type Told } from './untrue-runtime.js';

/** A harness whose guest sends the messages of the test. */
function openUntrue(tell: (segment: number, run: number) => Told, options: Partial<HarnessOptions> = {}) {
  const { tools, deeds } = sampleTools();
  const runtime = untrueRuntime(tell);
  const harness = openHarness({ tools, runtime, typecheck: 'off', approvals: 'deny', ...options });
  return { runtime, deeds, run: () => harness.runScript('await tools.echo({ value: 1 })') };
}

const thrown = (extra: object): Told => ({
  end: { type: 'threw', error: { name: 'Error', message: 'made up', stack: '', ...extra }, unhandled: [] },
});

describe('a guest that has taken over its sandbox', () => {
  it.each([
    ['one too far ahead', [1]],
    ['the same one twice', [0, 0]],
    ['one that is none', [-1]],
    ['one that is no whole number', [0.5]],
  ])('makes no call under another index than the next: %s', async (_name, indexes) => {
    const calls = indexes.map((index) => callOf(index, 'echo', { value: 1 }));
    const { deeds, run } = openUntrue((segment) => (segment === 0 ? { calls } : RETURNED));
    expect(failureOf(await run()).code).toBe('HarnessInternalError');
    expect(deeds).toEqual([]);
  });

  it.each(['ApprovalDeniedError', 'HarnessInternalError', 'ScriptTimeoutError', 'constructor'])(
    'gets no failure code that the host has not set: %s',
    async (code) => {
      const { run } = openUntrue(() => thrown({ code }));
      expect(failureOf(await run()).code).toBe('ScriptRuntimeError');
    },
  );

  it('gets no failure code from a call that was not refused with it', async () => {
    const { run } = openUntrue((segment) =>
      segment === 0
        ? { calls: [callOf(0, 'echo', { value: 1 })] }
        : thrown({ code: 'ApprovalDeniedError', callIndex: 0 }),
    );
    expect(failureOf(await run()).code).toBe('ScriptRuntimeError');
  });

  it('makes no structured call of its harness, which has then not started', async () => {
    const { tools, deeds } = sampleTools();
    const runtime = untrueRuntime(() => ({ calls: [callOf(7, 'write', { path: 'x' })] }));
    const operation = await openHarness({ tools, runtime, typecheck: 'off' }).callTool('write', { path: 'x' });
    expect(operation).toMatchObject({ tool: 'write', status: 'not_started', error: { code: 'HarnessInternalError' } });
    expect(operation.error!.message).not.toContain('when its process ended');
    expect(deeds).toEqual([]);
  });

  it('adds no more lines than the host keeps, and the host reports the dropped ones', async () => {
    const logs = Array.from({ length: 5_000 }, (_, line) => ({ level: 'info' as const, text: `line ${line}` }));
    const limits = { maxLogEvents: 10 };
    const { logs: kept } = await openUntrue(() => ({ logs, ...RETURNED }), { limits }).run();
    expect(kept).toHaveLength(11);
    expect(kept[5]!.text).toContain('4990 console lines were dropped');
    expect(kept.map(({ text }) => text).filter((text) => text.startsWith('line'))).toEqual(
      [0, 1, 2, 3, 4, 4995, 4996, 4997, 4998, 4999].map((line) => `line ${line}`),
    );
  });

  it('adds no more bytes in lines than the host keeps', async () => {
    const logs = Array.from({ length: 100 }, () => ({ level: 'info' as const, text: 'ä'.repeat(500) }));
    const limits = { maxLogBytes: 10_000 };
    const { logs: kept } = await openUntrue(() => ({ logs, ...RETURNED }), { limits }).run();
    expect(kept.filter(({ level }) => level === 'info')).toHaveLength(10);
  });

  it('shows the user no more text than the host keeps, in any number of parts', async () => {
    const { run } = openUntrue(
      (segment) => ({
        output: 'x'.repeat(300),
        ...(segment < 8 ? { calls: [callOf(segment, 'echo', { value: 1 })] } : RETURNED),
      }),
      { limits: { maxReturnBytes: 1_000 } },
    );
    const { output } = await run();
    expect(output).toBe(`${'x'.repeat(1_000)}\n[the rest of the output was truncated]`);
  });

  it('reports no more progress than the host allows', async () => {
    const progress = Array.from({ length: 500 }, () => ({ message: 'more', kind: 'info' as const }));
    const { tools } = sampleTools();
    const runtime = untrueRuntime(() => ({ progress, ...RETURNED }));
    const harness = openHarness({ tools, runtime, typecheck: 'off' });
    const events = await collect(harness.processText('<tool-calls>\nawait tools.echo({ value: 1 })\n</tool-calls>'));
    expect(events.filter(({ payload }) => payload.type === 'script_progress')).toHaveLength(1);
  });
});

describe('a script whose sandbox failed', () => {
  const failsOnce =
    (...calls: ReturnType<typeof callOf>[]) =>
    (segment: number, run: number): Told => {
      if (run > 1) return RETURNED;
      return segment === 0 ? { calls } : { end: { type: 'internal', detail: 'planted' } };
    };

  it('is run a second time if only reads had started', async () => {
    const { runtime, run } = openUntrue(failsOnce(callOf(0, 'echo', { value: 1 })));
    expect(valueOf(await run())).toBe(1);
    expect(runtime.runs()).toBe(2);
  });

  it.each([
    ['with a write', 'hold'],
    ['with an effect outside', 'send'],
  ])('is not run a second time after a call %s', async (_name, tool) => {
    const { runtime, run, deeds } = openUntrue(
      failsOnce(callOf(0, 'echo', { value: 1 }), callOf(1, tool, tool === 'send' ? { ms: 60_000 } : {})),
    );
    expect(failureOf(await run()).code).toBe('HarnessInternalError');
    expect(runtime.runs()).toBe(1);
    expect(deeds.filter((deed) => deed.what === 'started' && deed.tool !== 'echo')).toHaveLength(1);
  });
});
