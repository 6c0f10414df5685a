import { describe, expect, onTestFinished, test } from 'vitest';
import { recoverRun, runAgent, type AgentInput } from '#core/agent/index.js';
import { interruptedRun } from '#core/agent/interrupted-run.js';
import { spentIn } from '#core/agent/spent.js';
import { memoryStore } from '#core/index.js';
import { withFallbacks } from '#core/providers/fallbacks.js';
import { createProvider, startScriptedServer } from '#core/providers/index.js';
import { RunInterruption, type ModelProvider, type StreamEvent } from '#core/protocol/index.js';
import { collect } from './cast.js';
import { collectRun, NONCE, openWorld } from './running.js';
import { call, comparable, reasoning, script, text, type Part, type Turn } from './ways.js';

/* Background answers of Responses, after the end of the process that waited for them. */

const CUT: Part = { type: 'cut' };
const CALLS: Turn[] = [
  {
    parts: [
      reasoning('I think about it.'),
      text('I note it, twice.'),
      CUT,
      script("await tools.note({ text: 'a' }); return (await tools.add({ a: 1, b: 2 })).sum;"),
      call('note', { text: 'b' }),
      text('Noted.'),
    ],
    usage: { input_tokens: 100, output_tokens: 10 },
  },
  { parts: [reasoning('Both.'), text('All is noted.')], usage: { input_tokens: 200, output_tokens: 20 } },
];
const CALLING = { slug: 'tester', carrier: 'tool', functions: 'all' } as const;
const IN_TEXT = { slug: 'tester', carrier: 'text', afterScript: 'continue' } as const;
const TEXT: Turn[] = [
  { parts: [reasoning('Hm.'), text('I note it in words.\n'), script("return await tools.note({ text: 'a' });")] },
  { parts: [text('Noted.')] },
];

type Lose = (request: string) => boolean;

async function open(
  turns: readonly Turn[],
  agent: AgentInput,
  { lose = (() => false) as Lose, fallback = false } = {},
) {
  const server = await startScriptedServer({ turns: [...turns] });
  onTestFinished(() => server.close());
  const requests: string[] = [];
  const provider = createProvider('openai-responses', {
    model: 'model-1',
    baseUrl: server.baseUrl,
    retries: { maxRetries: 1, baseDelayMs: 1 },
    environment: {},
    responses: { background: true },
    fetch: (url, init) => {
      const request = `${init.method} ${new URL(url).pathname}`;
      requests.push(request);
      return lose(request) ? Promise.reject(new TypeError('fetch failed')) : fetch(url, init);
    },
  });
  const other: ModelProvider = { ...provider, model: 'other', stream: () => expect.unreachable() };
  const model = fallback ? withFallbacks([provider, other]) : provider;
  const world = openWorld({ store: memoryStore() });
  return { server, requests, world, run: { provider: model, harness: world.harness, agent, nonce: NONCE } };
}

/** The first events of a run, whose process ends then. */
async function beginning({ run }: Awaited<ReturnType<typeof open>>, length: number): Promise<StreamEvent[]> {
  const stop = new AbortController();
  const events: StreamEvent[] = [];
  for await (const event of runAgent({ ...run, input: 'Go.', signal: stop.signal })) {
    if (events.length < length) events.push(event);
    if (events.length === length) stop.abort(new RunInterruption());
  }
  return events;
}

/** Continues the run after its first events. */
async function continued(scene: Awaited<ReturnType<typeof open>>, length: number) {
  const events = await beginning(scene, length);
  const rest = await collect(recoverRun({ ...scene.run, events, force: true, storeIsWhole: true }));
  return await collectRun(all([...events, ...rest]));
}

const spent = (events: readonly StreamEvent[]) => spentIn(events.map(({ payload }) => payload)).usage;

async function* all(events: readonly StreamEvent[]) {
  yield* events;
}

describe('a run whose process ends while a service continues its answer', () => {
  test.each([
    ['reads that answer, and asks for none twice: calls', CALLS, CALLING],
    ['reads that answer, and asks for none twice: scripts in text', TEXT, IN_TEXT],
  ] as const)('%s', async (_, turns, agent) => {
    const whole = await open(turns, agent);
    const expected = await collectRun(runAgent({ ...whole.run, input: 'Go.' }));
    expect(expected.response.status).toBe('completed');
    let tried = 0;
    for (let length = 1; length < expected.events.length; length += 1) {
      const prefix = expected.events.slice(0, length);
      const items = prefix.map(({ payload }) => JSON.stringify(payload));
      const hasBlock = agent === IN_TEXT && items.some((item) => item.includes('"script_execution"'));
      const [before, last] = prefix.slice(-2).map(({ payload }) => payload.type);
      const isSame = last === 'item_delta' && before === last;
      if (interruptedRun(prefix).background === undefined || hasBlock || isSame) continue;
      tried += 1;
      const scene = await open(turns, agent, { fallback: tried % 2 === 0 });
      const { events, response, history } = await continued(scene, length);
      const where = `${length}: ${items.at(-1)}`;
      expect(scene.server.violations, where).toEqual([]);
      expect(response.status, where).toBe('completed');
      expect(scene.server.requests.length, where).toBe(turns.length);
      expect(
        scene.requests.filter((request) => request.endsWith('/cancel')),
        where,
      ).toEqual([]);
      expect(scene.world.calls, where).toEqual(whole.world.calls);
      expect(comparable(history), where).toEqual(comparable(expected.history));
      expect(spent(events), where).toEqual(spent(expected.events));
      expect(response.usage, where).toEqual(expected.response.usage);
    }
    expect(tried).toBeGreaterThan(5);
  });

  test('asks again if the answer cannot be read', async () => {
    let isDown = false;
    const lose: Lose = (request) => isDown && request.startsWith('GET');
    const first: Turn = { parts: [reasoning('Hm.'), { type: 'wait', ms: 60_000 }, text('Never said.')] };
    const scene = await open([first, { parts: [text('Again.')] }], CALLING, { lose });
    const told = await beginning(scene, 3);
    isDown = true;
    expect(told.map(({ payload }) => payload.type)).toContain('background_answer');
    const rest = await collect(recoverRun({ ...scene.run, events: told, force: true }));
    expect(rest.at(-1)!.payload).toMatchObject({ type: 'response_done', status: 'completed' });
    expect(scene.server.requests).toHaveLength(2);
  });

  test('whose script in text had begun is asked again, and the script runs once', async () => {
    const [first] = TEXT as [Turn];
    const again: Turn = { parts: [text('Noted.')], changes_prefix: true };
    const scene = await open([first, again], IN_TEXT);
    const length = (await collectRun(runAgent({ ...(await open(TEXT, IN_TEXT)).run, input: 'Go.' }))).events.findIndex(
      ({ payload }) => payload.type === 'tool_call_done',
    );
    const { response } = await continued(scene, length + 1);
    expect(response.status).toBe('completed');
    expect(scene.world.calls).toEqual(['note {"text":"a"}']);
    expect(scene.requests.filter((request) => request.startsWith('GET'))).toEqual([]);
  });
});
