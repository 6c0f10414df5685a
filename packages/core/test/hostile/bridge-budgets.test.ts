import { describe, expect, it } from 'vitest';
import type { SandboxLimits } from '#core/protocol/index.js';
import { readFrame, readOutbox, type Outbox } from '#core/sandbox/quickjs/outbox.js';
import { ToolNames } from '#core/sandbox/quickjs/guest-texts.js';
import { writeInit } from '#core/sandbox/worker/guest-messages.js';
import { openSlot } from '../sandbox/support/in-process-slot.js';

/** The script's message in its first segment. */
async function firstWords(body: string, limits: Partial<SandboxLimits> = {}): Promise<Outbox> {
  const { compile, start, read } = await openSlot(limits);
  const segment = start(compile(body));
  expect(segment.end).toBeUndefined();
  return read(segment);
}

/** Nested scripts: each runs at HOOK, while the value of the outer one is read. */
const nested = (outer: string, depth: number) => `
  const dive = (left) => ${outer.replace('HOOK', `if (left > 0) dive(left - 1);`)};
  dive(${depth});`;

describe('a budget', () => {
  it('of calls applies to calls that are made while the arguments of others are serialised', async () => {
    const { calls, end } = await firstWords(
      `${nested('tools.echo({ toJSON() { HOOK return { left }; } }).catch(() => {})', 20)} return 1;`,
      { maxCalls: 5, maxBuiltinCalls: 2 },
    );
    expect(calls.map(({ name }) => name)).toEqual(Array(5).fill('echo'));
    expect(end).toMatchObject({ type: 'returned' });
  });

  it('of console lines applies to lines that are written while others are', async () => {
    const { logs, dropped, end } = await firstWords(
      `${nested('console.log({ get a() { HOOK return left; } })', 20)} return 1;`,
      { maxLogEvents: 5 },
    );
    expect(logs).toHaveLength(5);
    expect(dropped.logs).toBe(16);
    expect(end).toMatchObject({ type: 'returned' });
  });

  it('of progress applies to messages that are written while others are', async () => {
    const { progress, dropped, end } = await firstWords(
      `${nested('context.emitProgress({ toString() { HOOK return "x"; } })', 99)} return 1;`,
      { maxProgressEvents: 1 },
    );
    expect(progress).toHaveLength(68);
    expect(dropped.progress).toBe(32);
    expect(end).toMatchObject({ type: 'returned' });
  });
});

describe('the reason why arguments cannot be serialised', () => {
  it.each([
    ['an error with a long message', '{ toJSON() { throw new Error("x".repeat(50000)); } }'],
    ['a long text that is thrown', '{ toJSON() { throw "x".repeat(50000); } }'],
    ['a member with a long name', '{ ["k".repeat(50000)]: /a/ }'],
    ['bytes with a long name', '{ ["k".repeat(50000)]: new Uint8Array(1) }'],
    ['many members with long names', 'Array(90).fill("k".repeat(500)).reduce((inner, key) => ({ [key]: inner }), /a/)'],
  ])('is truncated, and the script continues: %s', async (_name, value) => {
    const { calls } = await firstWords(`tools.echo(${value}).catch(() => {}); return 1;`);
    expect(calls).toHaveLength(1);
    const { argsProblem, argsBytes } = calls[0]!;
    expect(argsProblem ?? argsBytes?.[0]?.problem).toMatch(/more characters\]/u);
  });
});

describe('a detached task', () => {
  it('that was refused has no id, even if its arguments made calls', async () => {
    const { slot, limits, compile } = await openSlot({ maxCalls: 1 });
    const initText = writeInit({
      runId: 'run',
      spawn: true,
      seed: [1, 2, 3, 4],
      limits,
    });
    const texts = { tools: new ToolNames(['echo']), contextJson: '{}', positions: '' };
    const bytecode = compile(`
      let inner;
      const outer = tools.spawn.exec('echo', { toJSON() { inner = tools.spawn.exec('echo'); return {}; } });
      outer.done.catch(() => {});
      return [inner.id, outer.id];`);
    const segment = slot.start({ bytecode, initText, texts, clockMs: 1, limits, sliceMs: 60_000 }, 60_000);
    const { text, places } = readFrame(segment.text);
    expect(readOutbox(text, places.length, limits).end).toMatchObject({ json: '["task_run_0",""]' });
  });
});
