import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createHarness, type Harness } from '#core/index.js';
import type { Outcome } from '#core/protocol/index.js';
import { runByNode, type Ending } from './node-oracle.js';
import { ordinaryScripts, type OrdinaryScript } from './ordinary-scripts.js';
import { makeWorld, worldTools } from './world.js';

const zone = process.env['TZ'];
let harness: Harness;

beforeAll(() => {
  process.env['TZ'] = 'UTC';
  harness = createHarness({ tools: worldTools(), limits: { maxToolCalls: 200 } });
});

afterAll(async () => {
  if (zone === undefined) delete process.env['TZ'];
  else process.env['TZ'] = zone;
  await harness.close();
});

const context = {
  workingDirectory: '/work',
  conversationId: 'c',
  turnId: 't',
  scriptId: 's',
  sandbox: { remainingToolBudget: 200, timeoutMs: 30_000 },
};

async function runByHarness({
  source,
  language,
}: OrdinaryScript): Promise<{ ending: Ending; saved: unknown; outcome: Outcome }> {
  const world = makeWorld();
  const outcome = await harness.runScript(source, {
    language,
    app: world,
    context: { workingDirectory: context.workingDirectory },
  });
  return { ending: endingOf(outcome), saved: [...world.saved], outcome };
}

/** An uncaught error reads `Name: message`; a tool's error keeps its code and its own message. */
function endingOf(outcome: Outcome): Ending {
  if (outcome.status === 'completed')
    return { json: JSON.stringify(outcome.value), error: undefined, output: outcome.output };
  if (outcome.status !== 'failed') throw new Error(`an ordinary script is ${outcome.status}`);
  const { code, message } = outcome.error;
  const [, name = '', text = ''] =
    code === 'ScriptRuntimeError' ? (/^(\w+): (.*)$/su.exec(message) ?? []) : ['', code, message];
  return { json: undefined, error: { name, message: text }, output: outcome.output };
}

it('there are at least 100 ordinary scripts, each with its own name', () => {
  expect(ordinaryScripts.length).toBeGreaterThanOrEqual(100);
  expect(new Set(ordinaryScripts.map(({ name }) => name)).size).toBe(ordinaryScripts.length);
});

it('the comparison can fail: it distinguishes another value, another error and another output', async () => {
  const script = (source: string): OrdinaryScript => ({ name: 'planted', language: 'js', source });
  const pairs = [
    ['return { a: 1, b: 2 }', 'return { b: 2, a: 1 }'],
    ['throw new TypeError("x")', 'throw new RangeError("x")'],
    ['text("a"); return 1', 'text("b"); return 1'],
  ] as const;
  for (const [ours, theirs] of pairs) {
    const { ending } = await runByHarness(script(ours));
    expect(ending).not.toEqual(await runByNode(script(theirs), makeWorld(), context));
    expect(ending).toEqual(await runByNode(script(ours), makeWorld(), context));
  }
});

describe('an ordinary script gives the answer that Node gives', () => {
  it.each(ordinaryScripts)('$name', async (script) => {
    const world = makeWorld();
    const expected = await runByNode(script, world, context);
    const { ending, saved, outcome } = await runByHarness(script);
    expect(ending, JSON.stringify(outcome.status === 'failed' ? outcome.error : outcome.diagnostics)).toEqual(expected);
    expect(saved).toEqual([...world.saved]);
  });
});
