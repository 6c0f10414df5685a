import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { createHarness, defineTool, memoryStore } from '#core/index.js';
import type { HarnessStore } from '#core/protocol/index.js';
import { sharedThreads } from '@toolscript/testkit/shared-threads';
import { keepCopy, KEY } from './world.js';

/** A harness with a tool that writes, and one that reads and never ends. `calls`: their calls. */
function open(store: HarnessStore) {
  const calls: string[] = [];
  let reached = () => {};
  const isHeld = new Promise<void>((resolve) => (reached = resolve));
  const harness = createHarness({
    ...sharedThreads(),
    store,
    suspensionKey: KEY,
    typecheck: 'off',
    tools: [
      defineTool({
        name: 'mark',
        description: 'Writes',
        effect: 'write',
        approval: 'never',
        input: z.object({ text: z.string() }),
        execute: ({ text }) => void calls.push(text),
      }),
      defineTool({
        name: 'hold',
        description: 'Reads without an end',
        effect: 'read',
        approval: 'never',
        execute: () => {
          calls.push('hold');
          reached();
          return new Promise<void>(() => {});
        },
      }),
    ],
  });
  onTestFinished(() => harness.close());
  return { harness, calls, isHeld };
}

/** The store of a script that has marked twice and then waits for `hold`, after the death of its process. */
async function interrupted() {
  const store = memoryStore();
  const { harness, isHeld } = open(store);
  const stop = new AbortController();
  const running = harness.runScript(
    'await tools.mark({ text: "a" }); await tools.mark({ text: "b" }); await tools.hold()',
    { signal: stop.signal },
  );
  await isHeld;
  const [script] = (await store.journal.list()).scripts;
  const { scriptId } = script!;
  const content = (await store.journal.read(scriptId))!;
  stop.abort();
  await running;
  return { scriptId, lines: content.lines };
}

describe('the replay of an interrupted script', () => {
  it('ends at the end of the tape, and makes no call again', async () => {
    const { scriptId, lines } = await interrupted();
    const { harness, calls } = open(await keepCopy(memoryStore(), scriptId, { lines }));
    const outcome = await harness.replay(scriptId);
    expect(outcome).toMatchObject({ status: 'failed', error: { code: 'ScriptCancelledError' } });
    expect(outcome.operations.map(({ tool, status }) => [tool, status])).toEqual([
      ['mark', 'completed'],
      ['mark', 'completed'],
    ]);
    expect(calls).toEqual([]);
  });

  it('is refused if a line was changed', async () => {
    const { scriptId, lines } = await interrupted();
    const changed = lines.map((line, index) =>
      index === lines.length - 1 ? line.replace('"epoch":1', '"epoch":2') : line,
    );
    const { harness } = open(await keepCopy(memoryStore(), scriptId, { lines: changed }));
    expect(await harness.replay(scriptId)).toMatchObject({
      status: 'failed',
      error: { code: 'SuspensionError', message: expect.stringContaining('damaged') as string },
    });
  });
});
