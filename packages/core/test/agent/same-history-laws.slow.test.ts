import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { codingTools } from '@toolscript/tools';
import type { AgentInput } from '#core/agent/index.js';
import { APIS, essences, expectClean, openWorld, play } from './running.js';
import {
  call,
  expectSame,
  openScenario,
  operationsOf,
  playOnEach,
  reasoning,
  says,
  script,
  SCRIPT_WAYS,
  text,
  type Part,
  type Take,
  type Turn,
  type Way,
} from './ways.js';

const NOTE = (said: string) => `return await tools.note({ text: '${said}' });`;

describe('the same scenario ends in the same history through each of the three APIs', () => {
  const turnsFor = (way: Way): Turn[] => {
    const isHybrid = way.agent.functions === 'all';
    const ask = (code: string, ...asked: Part[]) => (way.agent.carrier === undefined ? asked : [script(code)]);
    const parts = [
      reasoning('I go step by step.'),
      text('Step one.\n'),
      ...ask('return await tools.fail({});', call('fail', {})),
    ];
    return [
      { parts, expect: ['Do it.'] },
      {
        parts: ask('return nonsense(', call('note', { wrong: 1 })),
        expect: ['it broke'],
      },
      ...(isHybrid ? [{ parts: [call('add', { a: 1, b: 2 }), call('note', { text: 'call' })] }] : []),
      {
        parts: [text('Step two.\n'), ...ask('return await tools.shot({});', call('shot', {}))],
      },
      { parts: [reasoning('Nearly done.'), ...ask(NOTE('done'), call('note', { text: 'done' }))] },
      says('Finished.', ['done']),
    ];
  };
  const structured = { way: 'structured', agent: { functions: 'all' as const } };
  const hybrid = SCRIPT_WAYS.map(({ way, agent }) => ({
    way: `hybrid: calls and ${way}`,
    agent: { ...agent, functions: 'all' as const },
  }));

  test.each([structured, ...SCRIPT_WAYS, ...hybrid])('$way', async (way) => {
    const takes = await playOnEach({ agent: way.agent, turns: turnsFor(way) });
    for (const { played, calls } of takes) {
      expect(played.response.status).toBe('completed');
      expect(essences(played.history).at(-1)).toBe('assistant: Finished.');
      expect(calls.at(-1)).toBe('note {"text":"done"}');
    }
  });
});

describe('structured, script and hybrid end with the same effects and the same last message', () => {
  const READ = { path: 'prices.txt' };
  const MISSING = { path: 'missing.txt' };
  const WRITE = { path: 'total.txt', content: 'The total is 7.\n' };
  const reads = `
const { lines } = await tools.readFile({ path: 'prices.txt' });
await tools.readFile({ path: 'missing.txt' }).catch(() => {});`;
  const writes = "await tools.writeFile({ path: 'total.txt', content: `The total is ${total}.\\n` });";
  const sums =
    'const total = (JSON.stringify(lines).match(/ (\\d+)/g) ?? []).reduce((sum, price) => sum + Number(price), 0);';
  const end = says('The total is 7.');
  const structured: Turn[] = [
    { parts: [reasoning('Prices first.'), text('I look.\n'), call('readFile', READ), call('readFile', MISSING)] },
    { parts: [call('writeFile', WRITE)], expect: ['pears 4'] },
    end,
  ];
  const scripted: Turn[] = [
    { parts: [reasoning('All at once.'), text('I sum.\n'), script(`${reads}\n${sums}\n${writes}\nreturn total;`)] },
    { ...end, expect: ['Value: 7'] } as Turn,
  ];
  const hybrid: Turn[] = [
    structured[0]!,
    { parts: [text('I write.\n'), script(`const total = 3 + 4;\n${writes}`)], expect: ['pears 4'] },
    end,
  ];

  /** A folder, its tools, and the result of a model's work there. */
  async function openFolder(api: (typeof APIS)[number]) {
    const root = await mkdtemp(join(tmpdir(), 'toolscript-ways-'));
    onTestFinished(() => rm(root, { recursive: true, force: true }));
    const world = openWorld({ tools: codingTools({ roots: [root] }) as never, approvals: 'auto' });
    return async ({ agent }: Way, turns: readonly Turn[]) => {
      await rm(join(root, 'total.txt'), { force: true });
      await writeFile(join(root, 'prices.txt'), 'apples 3\npears 4\n');
      const scene = await openScenario(api, { turns: [...turns] });
      const played = await play(world, scene, { reasoningEffort: 'medium', ...agent });
      expectClean(scene);
      const names = (await readdir(root)).toSorted();
      const files = await Promise.all(names.map(async (name) => [name, await readFile(join(root, name), 'utf8')]));
      return { played, effects: { files, operations: operationsOf(played) } };
    };
  }

  const ways: { way: string; agent: Way['agent']; turns: readonly Turn[] }[] = [
    { way: 'structured', agent: { functions: 'all' }, turns: structured },
    ...SCRIPT_WAYS.map((way) => ({ ...way, turns: scripted })),
    ...SCRIPT_WAYS.map(({ way, agent }) => ({
      way: `hybrid: ${way}`,
      agent: { ...agent, functions: ['readFile'] },
      turns: hybrid,
    })),
  ];

  test.each(APIS)('%s', async (api) => {
    const act = await openFolder(api);
    const first = await act(ways[0]!, structured);
    expect(first.effects).toMatchObject({
      files: [
        ['prices.txt', 'apples 3\npears 4\n'],
        ['total.txt', 'The total is 7.\n'],
      ],
      operations: [
        { tool: 'readFile', status: 'completed' },
        { tool: 'readFile', status: 'failed' },
        { tool: 'writeFile', status: 'completed' },
      ],
    });
    for (const way of ways.slice(1)) {
      const { played, effects } = await act(way, way.turns);
      expect(effects, way.way).toEqual(first.effects);
      expect(essences(played.history).at(-1), way.way).toBe('assistant: The total is 7.');
      expect(played.response.status, way.way).toBe('completed');
    }
  });
});

/** Answers that every format can carry. In Chat, an answer is reasoning, a text, and calls. */
const said = fc
  .constantFrom(
    'Well. ',
    'a < b\n',
    '`<tool-calls>` is a tag.\n',
    '😀\n\n',
    '<think>hm</think>',
    '</tool-calls>',
    '```ts\n1\n```\n',
  )
  .map(text);
const scripts = fc
  .constantFrom(
    NOTE('x'),
    'return (await tools.add({ a: 1, b: 2 })).sum;',
    'return await tools.fail({});',
    'return nonsense(',
    "return '</tool-calls>';",
    "return await tools.guarded({ text: 'x' });",
  )
  .map(script);
const calls = fc.constantFrom(
  call('note', { text: 'called' }),
  call('note', { wrong: 1 }),
  call('fail', {}),
  call('unknown', {}),
  call('guarded', { text: 'x' }),
);
const many = (part: fc.Arbitrary<Part>) => fc.array(part, { maxLength: 3 });

function answersOf({ carrier }: Partial<AgentInput>): fc.Arbitrary<Part[]> {
  const thoughts = fc.constantFrom([], [reasoning('because')]);
  const texts = carrier === 'text' ? fc.oneof(said, scripts) : said;
  const asked = carrier === 'text' ? calls : fc.oneof(calls, scripts);
  // If the answer is stopped, the text after a script is missing, and in Chat clients do not send back the reasoning
  // before it.
  return fc
    .tuple(thoughts, many(texts), many(asked))
    .map(([first, second, third]) => [...(carrier === 'text' && third.length > 0 ? [] : first), ...second, ...third])
    .filter((parts) => parts.some(({ type }) => type !== 'reasoning'));
}

describe('whatever a model writes in an order that every format supports, the histories are the same', () => {
  const agents: Partial<AgentInput>[] = [
    ...SCRIPT_WAYS.map(({ agent }) => agent),
    { carrier: 'text', afterScript: 'continue', continueOnError: true },
    { carrier: 'text', mode: 'disabled' },
    { carrier: 'tool', mode: 'dry-run' },
  ];

  test.each(agents)('%j', async (agent) => {
    const world = openWorld({ typecheck: 'off' });
    await world.harness.warm();
    const answers = fc.array(answersOf(agent), { minLength: 1, maxLength: 2 });
    await fc.assert(
      fc.asyncProperty(answers, fc.integer({ min: 1, max: 40 }), async (parts, delta_length) => {
        const takes: Take[] = [];
        for (const api of APIS) {
          const scenario = {
            turns: [...parts.map((each) => ({ parts: each })), says('The end.'), says('More.')],
            delta_length,
          };
          const scene = await openScenario(api, scenario);
          const played = await play(world, scene, { functions: 'all', reasoningEffort: 'medium', ...agent });
          expect(scene.server.violations).toEqual([]);
          await scene.server.close();
          takes.push({ api, harness: world.harness, calls: world.calls.splice(0), scene, played });
        }
        expectSame(takes);
      }),
      { numRuns: 20, interruptAfterTimeLimit: 20_000, markInterruptAsFailure: false },
    );
  });
});
