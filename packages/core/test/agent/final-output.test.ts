import { describe, expect, onTestFinished, test } from 'vitest';
import { recoverRun } from '#core/agent/index.js';
import { createProvider, startScriptedServer, type ProviderApi, type Scenario } from '#core/providers/index.js';
import { APIS, openWorld, play, inTags, type Scene } from './running.js';

const SCHEMA = { type: 'object', properties: { n: { type: 'integer', minimum: 1 } }, required: ['n'] } as const;
const says = (text: string, more: object = {}) => ({ parts: [{ type: 'text' as const, text }], ...more });
const ENFORCING = {
  'openai-responses': 'gpt-6.2-sol',
  'openai-chat': 'gpt-5.1',
  'anthropic-messages': 'claude-sonnet-5-5',
};

async function scene(api: ProviderApi, model: string, turns: readonly object[]): Promise<Scene> {
  const server = await startScriptedServer({ turns: [...turns] as Scenario['turns'] });
  onTestFinished(() => server.close());
  const { baseUrl } = server;
  return { server, provider: createProvider(api, { model, baseUrl, retries: { maxRetries: 0 }, environment: {} }) };
}

const bodies = ({ server }: Scene) => server.requests as Record<string, unknown>[];
const run = (stage: Scene, agent: object = {}) => play(openWorld(), stage, agent, { outputSchema: SCHEMA });
const done = (played: Awaited<ReturnType<typeof run>>) => played.events.at(-1)!.payload;
const failure = ({ events }: Awaited<ReturnType<typeof run>>) =>
  events.find(({ payload }) => payload.type === 'response_error')?.payload;

describe.each(APIS)('%s: the value of a final answer', (api) => {
  test('is enforced by the service of a model that can, without an instruction', async () => {
    const script = { parts: [{ type: 'script', code: 'return 4;' }] };
    const stage = await scene(api, ENFORCING[api], [script, says('{"n":4}')]);
    const played = await run(stage);
    expect(done(played)).toMatchObject({ status: 'completed', output: { n: 4 } });
    expect(stage.server.violations).toEqual([]);
    for (const body of bodies(stage)) {
      const { text, response_format: format, output_config: config } = body;
      const sent = JSON.stringify(text ?? format ?? config);
      expect(sent).toContain('"additionalProperties":false');
      expect(sent.includes('"strict":true')).toBe(api !== 'anthropic-messages');
    }
    expect(JSON.stringify(bodies(stage)[0])).not.toContain('End with an answer');
  });

  test('is asked for by a message where the model cannot enforce it, and repaired once', async () => {
    const turns = [
      { ...says('It is four.'), expect: ['End with an answer that is one JSON value'] },
      { ...says('{"n":4}'), expect: ['does not fit the JSON Schema: the answer is not JSON'] },
    ];
    const stage = await scene(api, 'model-1', turns);
    expect(done(await run(stage))).toMatchObject({ status: 'completed', output: { n: 4 } });
    for (const body of bodies(stage))
      for (const name of ['text', 'response_format', 'output_config']) expect(body).not.toHaveProperty(name);
  });

  test('fails clearly after one repair, also where a limit was not enforced', async () => {
    const stage = await scene(api, ENFORCING[api], [says('{"n":0}'), says('{"n":0}'), says('{"n":1}')]);
    const played = await run(stage);
    expect(done(played)).toMatchObject({ status: 'failed' });
    expect(failure(played)).toMatchObject({ code: 'OutputInvalid', message: expect.stringContaining('answer.n') });
    expect(stage.server.turnsLeft).toBe(1);
  });

  test('that was cut off says so, and is not repaired', async () => {
    const stage = await scene(api, ENFORCING[api], [says('{"n":', { stop: 'max_output_tokens' }), says('{"n":4}')]);
    expect(failure(await run(stage))).toMatchObject({
      code: 'OutputTruncated',
      message: expect.stringContaining('maxOutputTokens'),
    });
    expect(stage.server.turnsLeft).toBe(1);
  });

  test('that was refused says so, with the words of the model', async () => {
    const refusal =
      api === 'anthropic-messages'
        ? says('I cannot.', { stop: 'refusal' })
        : { parts: [{ type: 'refusal', text: 'I cannot.' }] };
    const stage = await scene(api, ENFORCING[api], [refusal, says('{"n":4}')]);
    expect(failure(await run(stage))).toMatchObject({
      code: 'OutputRefused',
      message: expect.stringMatching(/refused to answer: (?:I cannot\.|refusal)/u),
    });
    expect(stage.server.turnsLeft).toBe(1);
  });

  test('is asked for by a message if scripts arrive in the text of answers', async () => {
    const stage = await scene(api, ENFORCING[api], [says(inTags('return 4;')), says('{"n":4}')]);
    expect(done(await run(stage, { carrier: 'text' }))).toMatchObject({ status: 'completed', output: { n: 4 } });
    expect(JSON.stringify(bodies(stage)[0])).toContain('End with an answer');
    expect(bodies(stage)[0]).not.toHaveProperty('text');
  });
});

test('a refused schema is left out, and the repair asks for the value', async () => {
  const sent: Record<string, unknown>[] = [];
  const answers = ['It is four.', '{"n":4}'].map((text) => ({
    id: text,
    choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
  }));
  const provider = createProvider('openai-chat', {
    model: 'gpt-6-sol',
    baseUrl: 'https://old-gateway.example/v1',
    environment: {},
    fetch: async (_url, init) => {
      const body = JSON.parse(String((init as { body: string }).body)) as Record<string, unknown>;
      sent.push(body);
      const error = { message: "Unsupported parameter: 'response_format'", param: 'response_format' };
      if (body['response_format'] !== undefined) return Response.json({ error }, { status: 400 });
      return Response.json(answers.shift());
    },
  });
  const played = await run({ provider } as Scene);
  expect(done(played)).toMatchObject({ status: 'completed', output: { n: 4 } });
  expect(sent.map((body) => body['response_format'] === undefined)).toEqual([false, true, true]);
  expect(JSON.stringify(sent[2])).toContain('End with an answer');
});

test('a run that ended during its repair is not repaired again', async () => {
  const first = await scene('openai-responses', 'model-1', [says('four'), says('four')]);
  const { events } = await run(first);
  const repair = events.findIndex(
    ({ payload }) => payload.type === 'item_done' && payload.final_item['repairs_output'] === true,
  );
  const second = await scene('openai-responses', 'model-1', [says('four'), says('{"n":4}')]);
  const rest = [];
  const { provider } = second;
  const stored = events.slice(0, repair + 1);
  const options = { provider, harness: openWorld().harness, agent: { slug: 'tester' }, outputSchema: SCHEMA };
  for await (const { payload } of recoverRun({ ...options, events: stored })) rest.push(payload);
  expect(rest).toContainEqual(expect.objectContaining({ type: 'response_error', code: 'OutputInvalid' }));
  expect(second.server.turnsLeft).toBe(1);
});

describe.each(APIS)('%s: an agent that finishes with a script', (api) => {
  const script = (code: string, more: object = {}) => ({ parts: [{ type: 'script', code }], ...more });
  const finishing = (turns: readonly object[], agent: object = {}, options: object = {}) =>
    scene(api, 'model-1', turns).then(async (stage) => ({
      stage,
      played: await play(openWorld(), stage, { finish: 'script', ...agent }, options),
    }));

  test('ends with the value of its script, and asks the model no more', async () => {
    const usage = { input_tokens: 100, output_tokens: 10 };
    const { stage, played } = await finishing([
      script("console.log('seen');", { usage }),
      script('return (await tools.add({ a: 1, b: 2 })).sum;', { usage, expect: ['seen'] }),
      says('Three.'),
    ]);
    expect(done(played)).toMatchObject({ status: 'completed', output: 3, usage: { output_tokens: 20 } });
    expect(stage.server.turnsLeft).toBe(1);
    expect(played.response.output_items.at(-1)).toMatchObject({ type: 'script_execution_output', output_json: '3' });
    const { server } = await scene(api, 'model-1', [says('Yes.')]);
    const provider = createProvider(api, { model: 'model-1', baseUrl: server.baseUrl, environment: {} });
    const next = await play(
      openWorld(),
      { server, provider },
      { finish: 'script' },
      { history: played.history, input: 'Sure?' },
    );
    expect(done(next)).toMatchObject({ status: 'completed' });
    expect(server.violations).toEqual([]);
  });

  test('goes on after a failed script, an answer in words, and a structured call', async () => {
    const call = { type: 'call', name: 'add', arguments: { a: 1, b: 2 } };
    const turns = [
      script("throw new Error('no');", {}),
      { parts: [{ type: 'script', code: 'return 5;' }, call] },
      { ...says('Done.'), expect: ['sum'] },
    ];
    const { played } = await finishing(turns, { functions: 'all' });
    expect(done(played)).toMatchObject({ status: 'completed' });
    expect(done(played)).not.toHaveProperty('output');
  });

  test('ends with the value also if the answer fails after its script', async () => {
    const { played } = await finishing([
      {
        parts: [
          { type: 'script', code: 'return { ok: true };' },
          { type: 'error', code: 'overloaded', message: 'busy' },
        ],
      },
    ]);
    // In Chat, a call is complete at the end of the answer.
    const end = api === 'openai-chat' ? { status: 'failed' } : { status: 'completed', output: { ok: true } };
    expect(done(played)).toMatchObject(end);
  });

  test('has a value that fits the schema, and repairs it once', async () => {
    const turns = [script('return { n: 0 };'), script('return { n: 2 };', { expect: ['answer.n'] })];
    const { played } = await finishing(turns, {}, { outputSchema: SCHEMA });
    expect(done(played)).toMatchObject({ status: 'completed', output: { n: 2 } });
  });

  test('may write its script in the text', async () => {
    const { stage, played } = await finishing([says(inTags('return 7;')), says('Seven.')], { carrier: 'text' });
    expect(done(played)).toMatchObject({ status: 'completed', output: 7 });
    expect(JSON.stringify(stage.server.requests[0])).toContain('The value that a script returns is your final answer');
  });
});

test('an interrupted run whose script has returned the final answer ends with it', async () => {
  const stage = await scene('openai-responses', 'model-1', [{ parts: [{ type: 'script', code: 'return 3;' }] }]);
  const agent = { slug: 'tester', finish: 'script' } as const;
  const { events } = await play(openWorld(), stage, agent);
  const rest = [];
  const { provider } = await scene('openai-responses', 'model-1', [says('Never.')]);
  const options = { provider, harness: openWorld().harness, agent, events: events.slice(0, -1) };
  for await (const { payload } of recoverRun(options)) rest.push(payload);
  expect(rest.at(-1)).toMatchObject({ type: 'response_done', status: 'completed', output: 3 });
});
