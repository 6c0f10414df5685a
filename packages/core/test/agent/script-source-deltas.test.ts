import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { resumeAgent, runAgent, type AgentInput, type RunAgentOptions } from '#core/agent/index.js';
import { ResponseReducer } from '#core/history/index.js';
import { scriptedModel, type ProviderApi, type Scenario } from '#core/providers/index.js';
import type { OutputItem, StreamEvent } from '#core/protocol/index.js';
import { comparable, expectWholeItems, typed, withoutTyping } from '../history/typed-scripts.js';
import { APIS, collectRun, essences, expectClean, NONCE, openScene, openWorld, play, type World } from './running.js';

type Turn = Scenario['turns'][number];
type Part = Extract<Turn, { parts: unknown }>['parts'][number];

const say = (text: string): Part => ({ type: 'text', text });
const script = (code: string): Part => ({ type: 'script', code });
const NOTE = (text: string) => `return await tools.note({ text: '${text}' });`;
const inText = { carrier: 'text', afterScript: 'continue' } as const;
const telling = { scriptSourceDeltas: true };

const sourcesOf = (items: readonly OutputItem[]) =>
  items.flatMap((item) => (item.type === 'script_execution' ? [item.source_code] : []));

describe.each(APIS)('%s', (api) => {
  test('the source of a script in text is emitted while it streams, and its item ends under the same id', async () => {
    const world = openWorld();
    const scene = await openScene(api, [{ parts: [say('I note.\n'), script(NOTE('a'))] }, { parts: [say('Done.')] }]);
    const { events, response } = await play(world, scene, { carrier: 'text' }, telling);
    expectClean(scene);
    expectWholeItems(events);
    const [item] = response.output_items.filter(({ type }) => type === 'script_execution');
    expect(item).toMatchObject({ carrier: 'text', status: 'completed', source_code: `${NOTE('a')}\n` });
    expect([...typed(events)]).toEqual([[item!.id, `${NOTE('a')}\n`]]);
    expect(item).not.toHaveProperty('stage');
    const started = events.find(({ payload }) => payload.type === 'item_start' && payload.item_id === item!.id)!;
    expect(started.payload).toMatchObject({ initial: { language: 'ts', format: 'xml', carrier: 'text' } });
  });

  test('whatever a model writes, streaming the source adds only the starts of scripts, and the model reads the same', async () => {
    const world = openWorld({ typecheck: 'off' });
    await world.harness.warm();
    let scripts = 0;
    await fc.assert(
      fc.asyncProperty(scenes, agents, fc.integer({ min: 1, max: 40 }), async (turns, agent, delta_length) => {
        const last: Turn = { parts: [say('The end.')] };
        const scenario = { turns: [...turns, last, last], delta_length };
        const [plain, told] = [
          await playOut(world, api, scenario, agent, false),
          await playOut(world, api, scenario, agent, true),
        ];
        expect(comparable(withoutTyping(told.events))).toEqual(comparable(withoutTyping(plain.events)));
        expect(comparable(told.history)).toEqual(comparable(plain.history));
        expect(comparable(told.requests)).toEqual(comparable(plain.requests));
        const sources = sourcesOf(told.history);
        for (const source of typed(told.events).values()) if (sources.includes(source)) scripts += 1;
      }),
      { numRuns: 25, interruptAfterTimeLimit: 20_000, markInterruptAsFailure: false },
    );
    expect(scripts).toBeGreaterThan(0);
  });
});

const part = fc.constantFrom(
  say('Well, a < b.\n'),
  say('<think>hm</think>'),
  say('</tool-calls>'),
  say(`\`\`\`js tool-calls id=${NONCE}\n  return 1;\n  \`\`\`\n`),
  say(`<tool-calls id="${NONCE}">\nreturn \`\n</tool-calls>\n`),
  say(`<tool-calls id="${NONCE}">\nunfinished`),
  script(NOTE('x')),
  script('return await tools.fail({});'),
  script("return '</tool-calls>';"),
  script("return await tools.guarded({ text: 'x' });"),
  { type: 'call' as const, name: 'note', arguments: { text: 'called' } },
);
const scenes = fc.array(
  fc
    .tuple(fc.array(part, { minLength: 1, maxLength: 5 }), fc.constantFrom<Part[]>([], [], [{ type: 'cut' }]))
    .map(([parts, end]): Turn => ({ parts: [...parts, ...end] })),
  { minLength: 1, maxLength: 2 },
);
const agents = fc.constantFrom<Partial<AgentInput>>(
  { carrier: 'text' },
  inText,
  { ...inText, continueOnError: true },
  { ...inText, mode: 'disabled' },
  { ...inText, mode: 'dry-run' },
  { carrier: 'tool' },
);

/** A run and, if it waits for a user, its continuation after the decision. */
async function playOut(
  { harness }: World,
  api: ProviderApi,
  scenario: Scenario,
  agent: Partial<AgentInput>,
  scriptSourceDeltas: boolean,
) {
  const provider = scriptedModel(scenario, { api, retries: { maxRetries: 0 } });
  const common = {
    provider,
    harness,
    agent: { slug: 'a', functions: 'all' as const, ...agent },
    scriptSourceDeltas,
    threadId: 'thr_typed',
    nonce: agent.mode === 'disabled' ? undefined : NONCE,
    runId: 'run_typed',
  };
  const first = await collectRun(runAgent({ ...common, input: 'Begin.' }));
  expectWholeItems(first.events);
  let { events, history } = first;
  const { payload } = events.at(-1)!;
  if (payload.type === 'response_done' && payload.status === 'suspended') {
    const decisions = Object.fromEntries(
      events.flatMap(({ payload: told }) =>
        told.type === 'approval_requested' ? [[told.approval.approval_id, 'approve' as const]] : [],
      ),
    );
    const resume = { ...common, history, suspension: payload.script_id!, decisions, nextSeq: events.length };
    const rest = await collectRun(resumeAgent(resume), history, events.length);
    expectWholeItems(rest.events);
    events = [...events, ...rest.events];
    ({ history } = rest);
  }
  expect(provider.violations).toEqual([]);
  return { events, history, requests: provider.requests };
}

test('a script is shown before it is complete', async () => {
  const world = openWorld();
  const scene = await openScene('anthropic-messages', [
    {
      parts: [say(`<tool-calls id="${NONCE}">\nreturn `), { type: 'wait', ms: 50 }, say("'typed';\n</tool-calls>")],
    },
    { parts: [say('Done.')] },
  ]);
  const options: RunAgentOptions = {
    provider: scene.provider,
    harness: world.harness,
    agent: { slug: 'tester', ...inText },
    input: 'Do it.',
    nonce: NONCE,
    ...telling,
  };
  const reducer = new ResponseReducer();
  const shown = new Set<string>();
  async function* watched(): AsyncGenerator<StreamEvent> {
    for await (const event of runAgent(options)) {
      reducer.apply(event);
      for (const item of reducer.response().output_items)
        if (item.type === 'script_execution') shown.add(`${item.status}: ${item.source_code}`);
      yield event;
    }
  }
  await collectRun(watched());
  expectClean(scene);
  expect([...shown]).toContain('pending: return ');
  expect([...shown].at(-1)).toBe("completed: return 'typed';\n");
});

test('an answer that is interrupted in a script leaves no half script in the conversation', async () => {
  const world = openWorld();
  const cut: Turn = { parts: [say(`Now:\n<tool-calls id="${NONCE}">\nawait tools.no`), { type: 'cut' }] };
  const scene = await openScene('openai-chat', [cut, { parts: [say('Again.')] }]);
  const first = await play(world, scene, inText, { ...telling, threadId: 'thr_1' });
  expectWholeItems(first.events);
  expect([...typed(first.events).values()]).toEqual(['await tools.no']);
  expect(first.events.map(({ payload }) => payload.type)).toContain('item_cancelled');
  expect(essences(first.history)).toEqual(['user: Do it.', 'assistant: Now:\n']);
  const more = { ...telling, threadId: 'thr_1', history: first.history, input: 'Go on.' };
  const second = await play(world, scene, inText, more);
  expect(second.response.status).toBe('completed');
  expectClean(scene);
});

test('scripts after one that waits for a user are emitted only as a whole', async () => {
  const world = openWorld();
  const scene = await openScene('openai-chat', [
    { parts: [script("return await tools.guarded({ text: 'x' });"), say('\nThen:\n'), script(NOTE('behind'))] },
  ]);
  const { events, response } = await play(world, scene, inText, telling);
  expectWholeItems(events);
  expect(response.status).toBe('suspended');
  expect([...typed(events).values()]).toEqual(["return await tools.guarded({ text: 'x' });\n", '']);
  expect(sourcesOf(response.output_items)).toEqual([
    "return await tools.guarded({ text: 'x' });\n",
    `${NOTE('behind')}\n`,
  ]);
});
