import { describe, expect, test } from 'vitest';
import { extendHistory, runAgent } from '#core/agent/index.js';
import { ResponseReducer } from '#core/history/index.js';
import { APIS, collectRun, essences, expectClean, inTags, NONCE, openScene, openWorld, play } from './running.js';
import {
  call,
  comparable,
  isInText,
  messagesOf,
  onlyItem,
  openScenario,
  playOnEach,
  providerOf,
  reasoning,
  says,
  script,
  SCRIPT_WAYS,
  text,
  type Part,
  type Turn,
} from './ways.js';

const ADD = 'return (await tools.add({ a: 2, b: 3 })).sum;';
const NOTE = (said: string) => `return await tools.note({ text: '${said}' });`;
const containing = (said: string) => expect.stringContaining(said) as unknown;

describe('thinking, script and text keep their order, also for the model', () => {
  test.each(SCRIPT_WAYS)('$way: thinking of the provider’s own', async ({ agent }) => {
    const goesOn = agent.afterScript === 'continue';
    const takes = await playOnEach({
      agent,
      turns: [
        {
          parts: [reasoning('One call will do.'), text('I add.\n'), script(ADD), ...(goesOn ? [text('\nSoon.')] : [])],
        },
        { parts: [reasoning('It is five.'), text('Five.')], expect: ['Value: 5'] },
      ],
    });
    const { history } = takes[0]!.played;
    const isSaid = (line: string) => !line.startsWith('call ');
    expect(essences(history).filter(isSaid)).toEqual([
      'user: Do it.',
      'reasoning: One call will do.',
      'assistant: I add.\n',
      `script completed: ${ADD}${agent.carrier === 'text' ? '\n' : ''}`,
      'result completed: Script completed, 1 tool call: 1 done.',
      ...(goesOn ? ['assistant: \nSoon.'] : []),
      'reasoning: It is five.',
      'assistant: Five.',
    ]);
  });

  test('an answer that is stopped at its script keeps the thinking before it', async () => {
    const takes = await playOnEach({
      agent: { carrier: 'text' },
      turns: [
        { parts: [reasoning('One call.'), text('I add.\n'), script(ADD), { type: 'wait', ms: 60_000 }, text('Six.')] },
        says('Five.', ['Value: 5']),
      ],
    });
    for (const { api, played } of takes) {
      const thought = onlyItem(played.history, 'reasoning');
      expect(thought, api).toMatchObject({ content: 'One call.' });
      expect(thought, api).not.toHaveProperty('cancelled');
    }
  });

  test('thinking in the text is reasoning, is sent back as text, and is not searched for scripts', async () => {
    const said = `<thinking>\nPerhaps ${inTags(NOTE('thought'))}?\n</thinking>\nI add.\n${inTags(ADD)}\nSoon.`;
    const takes = await playOnEach({
      agent: { carrier: 'text', afterScript: 'continue' },
      turns: [says(said), says('Five.', ['Value: 5'])],
    });
    for (const { api, calls, scene, played } of takes) {
      expect(played.history.map(({ type }) => type)).toEqual([
        'message',
        'reasoning',
        'message',
        'script_execution',
        'script_execution_output',
        'message',
        'message',
      ]);
      expect(calls).toEqual(['add {"a":2,"b":3}']);
      expect(JSON.stringify(messagesOf(scene.server.requests[1])[1]), api).toContain(JSON.stringify(said));
    }
  });
});

describe('Responses: thinking, text and a script pass end to end', () => {
  test.each(SCRIPT_WAYS)('$way', async (way) => {
    const { agent } = way;
    const world = openWorld();
    const scene = await openScene('openai-responses', [
      { parts: [reasoning('One call will do.'), text('I add.\n'), script(ADD)] },
      says('Five.', ['Value: 5']),
    ]);
    const { response, events } = await play(world, scene, { ...agent, reasoningEffort: 'medium' });
    expectClean(scene);
    expect(response.status).toBe('completed');
    expect(world.calls).toEqual(['add {"a":2,"b":3}']);
    expect(response.usage?.total_tokens).toBeGreaterThan(0);
    expect(new Set(events.map(({ turn_id }) => turn_id)).size).toBe(1);
    const thought = { type: 'reasoning', encrypted_content: expect.any(String) as unknown };
    const said = (words: string) => ({ type: 'message', role: 'assistant', content: words });
    const call = { type: 'function_call', name: 'run_script', arguments: JSON.stringify({ code: ADD }) };
    const rest = {
      tool: [thought, said('I add.\n'), call, { type: 'function_call_output', output: containing('Value: 5') }],
      custom: [
        thought,
        said('I add.\n'),
        { type: 'custom_tool_call', name: 'run_script', input: ADD },
        { type: 'custom_tool_call_output', output: containing('Value: 5') },
      ],
      text: [thought, { type: 'message', role: 'assistant' }, { role: 'user' }],
    }[agent.carrier as 'tool' | 'custom' | 'text'];
    const messages = messagesOf(scene.server.requests[1]);
    expect(messages).toMatchObject([{ role: 'user' }, ...rest]);
    if (!isInText(way)) return;
    expect(JSON.stringify(messages.at(-2))).toContain(JSON.stringify(`I add.\n${inTags(ADD)}`));
    expect(JSON.stringify(messages.at(-1))).toMatch(/<tool-output call_id=.*Value: 5/u);
  });
});

describe('Chat: a block in the text is found and run, however it is split', () => {
  const blocks = { tags: inTags(ADD), fence: `\`\`\`ts tool-calls id=${NONCE}\n${ADD}\n\`\`\`` };
  const lengths = [1, 2, 7, 16, 1000];
  const cuts = Object.entries(blocks).flatMap(([name, block]) => lengths.map((length) => ({ name, block, length })));

  test.each(cuts)('$name, in pieces of $length', async ({ block, length }) => {
    const before = 'A `<tool-calls>` block runs 😀:\n\n';
    const world = openWorld();
    const scene = await openScenario('openai-chat', {
      turns: [says(`${before}${block}\nThere.`), says('Five.', ['<tool-output call_id=', 'Value: 5'])],
      delta_length: length,
    });
    const { response, history } = await play(world, scene, { carrier: 'text', afterScript: 'continue' });
    expectClean(scene);
    expect(response.status).toBe('completed');
    expect(world.calls).toEqual(['add {"a":2,"b":3}']);
    expect(essences(history)).toEqual([
      'user: Do it.',
      `assistant: ${before}`,
      `script completed: ${ADD}\n`,
      'result completed: Script completed, 1 tool call: 1 done.',
      'assistant: \nThere.',
      'assistant: Five.',
    ]);
    expect(messagesOf(scene.server.requests[1])).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: `${before}${block}\nThere.` },
      { role: 'user' },
    ]);
  });
});

describe('Messages: thinking streams before its script, and stays bound to its place', () => {
  test.each(SCRIPT_WAYS)('$way', async (way) => {
    const world = openWorld();
    const scene = await openScene('anthropic-messages', [
      { parts: [reasoning('First I add the two numbers.'), text('I add.\n'), script(ADD)] },
      { parts: [reasoning('Now it is noted.'), script(NOTE('five'))], expect: ['Value: 5'] },
      says('Five.', ['noted']),
    ]);
    const { events, history } = await play(world, scene, { ...way.agent, reasoningEffort: 'medium' });
    expectClean(scene);
    expect(world.calls).toEqual(['add {"a":2,"b":3}', 'note {"text":"five"}']);
    const ofItem = (type: string) => history.find((item) => item.type === type)!.id;
    const thought = ofItem('reasoning');
    const deltas = events.filter(({ payload }) => payload.type === 'item_delta' && payload.item_id === thought);
    expect(deltas.length).toBeGreaterThan(1);
    const started = events.findIndex(
      ({ payload }) => payload.type === 'item_start' && payload.item_id === ofItem('script_execution'),
    );
    expect(deltas.at(-1)!.seq).toBeLessThan(started);
    const thinking = { type: 'thinking', signature: expect.stringMatching(/./u) as unknown };
    const ran = (code: string) => ({ type: 'tool_use', name: 'run_script', input: { code } });
    const isText = isInText(way);
    expect(messagesOf(scene.server.requests[2])).toMatchObject([
      { role: 'user' },
      {
        role: 'assistant',
        content: isText
          ? [thinking, { type: 'text', text: `I add.\n${inTags(ADD)}` }]
          : [thinking, { type: 'text', text: 'I add.\n' }, ran(ADD)],
      },
      { role: 'user', content: [{ type: isText ? 'text' : 'tool_result' }] },
      {
        role: 'assistant',
        content: isText ? [thinking, { type: 'text', text: inTags(NOTE('five')) }] : [thinking, ran(NOTE('five'))],
      },
      { role: 'user', content: [{ type: isText ? 'text' : 'tool_result' }] },
    ]);
  });
});

describe('structured calls and scripts work side by side', () => {
  const notes = (...said: string[]): Part[] => said.map((word) => call('note', { text: word }));

  test.each(SCRIPT_WAYS)('$way: in one answer, in order of appearance, all results together', async (way) => {
    const stops = way.agent.carrier === 'text' && way.agent.afterScript !== 'continue';
    const takes = await playOnEach({
      agent: { ...way.agent, functions: 'all' },
      turns: [
        { parts: [text('Both ways.\n'), script(NOTE('one')), ...notes('two', 'three')] },
        ...(stops ? [{ parts: notes('two', 'three'), expect: ['one'] }] : []),
        says('All three.', stops ? ['two', 'three'] : ['one', 'two', 'three']),
      ],
    });
    for (const { calls, scene } of takes) {
      expect(calls).toEqual(['one', 'two', 'three'].map((word) => `note {"text":"${word}"}`));
      expect(scene.server.requests).toHaveLength(stops ? 3 : 2);
    }
  });

  test('calls before a script of the same answer run before it', async () => {
    const [take] = await playOnEach({
      agent: { functions: 'all' },
      turns: [{ parts: [...notes('one'), script(NOTE('two')), ...notes('three')] }, says('All three.')],
    });
    expect(take!.calls).toEqual(['one', 'two', 'three'].map((word) => `note {"text":"${word}"}`));
  });

  test.each(SCRIPT_WAYS)('$way: in turns of one conversation', async ({ agent }) => {
    const [take] = await playOnEach({
      agent: { ...agent, functions: 'all' },
      turns: [
        { parts: notes('simple') },
        { parts: [text('Now more:\n'), script(`${NOTE('one').replace('return ', '')} ${NOTE('two')}`)] },
        { parts: notes('simple again'), expect: ['2 tool calls: 2 done'] },
        says('Finished.', ['simple again']),
      ],
    });
    expect(take!.calls).toHaveLength(4);
  });

  test('a failed call is reported to the model, and a script after it still runs', async () => {
    const [take] = await playOnEach({
      agent: { functions: 'all' },
      turns: [{ parts: [call('fail', {}), script(NOTE('behind'))] }, says('I see.', ['it broke', 'behind'])],
    });
    expect(take!.calls).toEqual(['fail {}', 'note {"text":"behind"}']);
  });
});

describe('the history of a turn is complete and in order', () => {
  const failing = 'await tools.note({ text: "kept" });\nreturn await tools.fail({});';
  const code = 'console.log("adding");\nreturn { message: `It is ${(await tools.add({ a: 2, b: 3 })).sum}.` };';
  const turns: Turn[] = [
    {
      parts: [
        reasoning('Both ways.'),
        text('First a script:\n'),
        script(failing),
        text('\nThen a call.'),
        call('add', { a: 1, b: 1 }),
      ],
    },
    { parts: [text('Again:\n'), script(code)], expect: ['it broke', 'not made'] },
    says('Five.', ['It is 5.', 'adding']),
  ];

  test('every part of it, down to each operation', async () => {
    const [take] = await playOnEach({
      agent: { carrier: 'text', afterScript: 'continue', functions: 'all' },
      turns,
    });
    const operation = (tool: string, input: object, more: object) => ({
      call_id: expect.any(String) as unknown,
      tool,
      input,
      ...more,
    });
    expect(comparable(take!.played.history)).toMatchObject([
      { type: 'message', role: 'user', content: 'Do it.' },
      { type: 'reasoning', content: 'Both ways.', answer_id: 'answer_id 1' },
      { type: 'message', role: 'assistant', content: 'First a script:\n', answer_id: 'answer_id 1' },
      {
        type: 'script_execution',
        status: 'error',
        answer_id: 'answer_id 1',
        call_id: 'call_id 2',
        source_code: `${failing}\n`,
        raw_text: inTags(failing),
        plan: [{ tool: 'note' }, { tool: 'fail' }],
      },
      {
        type: 'script_execution_output',
        call_id: 'call_id 2',
        status: 'failed',
        error: { code: 'ToolExecutionError', message: 'it broke', line: 2 },
        operations: [
          operation('note', { text: 'kept' }, { status: 'completed', result: { noted: 'kept' }, line: 1 }),
          operation('fail', {}, { status: 'failed', line: 2 }),
        ],
      },
      { type: 'message', role: 'assistant', content: '\nThen a call.', answer_id: 'answer_id 1' },
      { type: 'function_call', name: 'add', arguments: '{"a":1,"b":1}', answer_id: 'answer_id 1' },
      { type: 'function_call_output', success: false },
      { type: 'message', role: 'assistant', content: 'Again:\n' },
      { type: 'script_execution', status: 'completed', source_code: `${code}\n` },
      {
        type: 'script_execution_output',
        status: 'completed',
        summary: 'It is 5.',
        output_json: '{"message":"It is 5."}',
        logs: [{ level: 'log', text: 'adding' }],
        operations: [operation('add', { a: 2, b: 3 }, { status: 'completed', result: { sum: 5 }, line: 2 })],
        metadata: { tool_calls_made: 1 },
      },
      { type: 'message', role: 'assistant', content: 'Five.' },
    ]);
  });

  test.each(APIS)('%s: items keep their place from their first event to the end', async (api) => {
    const world = openWorld();
    const scene = await openScene(api, turns);
    const reducer = new ResponseReducer();
    const shown: string[][] = [];
    const agent = { slug: 'tester', carrier: 'text', afterScript: 'continue', functions: 'all' } as const;
    const watched = (async function* () {
      for await (const event of runAgent({
        provider: scene.provider,
        harness: world.harness,
        agent,
        input: 'Do it.',
      })) {
        reducer.apply(event);
        shown.push(reducer.response().output_items.map(({ id }) => id));
        yield event;
      }
    })();
    const { events, history, response } = await collectRun(watched);
    expectClean(scene);
    const whole = response.output_items.map(({ id }) => id);
    for (const ids of shown) expect(whole.filter((id) => ids.includes(id))).toEqual(ids);
    expect(history.slice(1)).toEqual(reducer.response().output_items);
    // The stored items fold into the same conversation.
    expect(extendHistory([], JSON.parse(JSON.stringify(events)) as typeof events)).toEqual(history);
  });
});

describe('a script starts while the model is still writing', () => {
  const cases = APIS.flatMap((api) => [
    { api, way: 'in the text', agent: { carrier: 'text' as const, afterScript: 'continue' as const } },
    // In Chat, calls are complete only at the end of their answer.
    ...(api === 'openai-chat' ? [] : [{ api, way: 'by tool', agent: { carrier: 'tool' as const } }]),
  ]);

  test.each(cases)('$api: $way', async ({ api, agent }) => {
    const world = openWorld();
    const scene = await openScene(api, [
      { parts: [text('Now.\n'), script(NOTE('early')), text('\nEPILOGUE: that was long.')] },
      says('Done.', ['early']),
    ]);
    const happened: string[] = [];
    const gate = gateBefore('EPILOGUE', happened);
    const provider = providerOf(api, scene.server.baseUrl, { fetch: gate.fetch });
    const run = runAgent({ provider, harness: world.harness, agent: { slug: 'tester', ...agent }, input: 'Do it.' });
    const watched = (async function* () {
      for await (const event of run) {
        if (event.payload.type === 'tool_call_start') {
          happened.push('the script calls its tool');
          gate.open();
        }
        yield event;
      }
    })();
    const { history } = await collectRun(watched);
    expectClean(scene);
    expect(happened).toEqual(['the script calls its tool', 'the rest is said']);
    expect(JSON.stringify(history)).toContain('EPILOGUE: that was long.');
    expect(onlyItem(history, 'script_execution_output').status).toBe('completed');
  });
});

/** The time in ms that a gate stays closed if the product never opens it. The test then fails because of its events. */
const PATIENCE_MS = 20_000;

/** A gate in the wire: no event after the one that contains `words` arrives until the gate is opened. */
function gateBefore(words: string, happened: string[]) {
  let open: () => void = () => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  let isReached = false;
  const reach = async () => {
    isReached = true;
    const timer = setTimeout(open, PATIENCE_MS);
    await opened;
    clearTimeout(timer);
    happened.push('the rest is said');
  };
  const fetch = async (url: string, init: RequestInit): Promise<Response> => {
    const response = await globalThis.fetch(url, init);
    const encoder = new TextEncoder();
    let rest = '';
    const byEvent = new TransformStream<string, Uint8Array>({
      async transform(piece, controller) {
        const events = (rest + piece).split(/(?<=\n\n)/u);
        rest = events.at(-1)!.endsWith('\n\n') ? '' : events.pop()!;
        for (const event of events) {
          if (!isReached && event.includes(words)) await reach();
          controller.enqueue(encoder.encode(event));
        }
      },
      flush: (controller) => controller.enqueue(encoder.encode(rest)),
    });
    const body = response.body!.pipeThrough(new TextDecoderStream() as never).pipeThrough(byEvent);
    return new Response(body as never, { status: response.status, headers: response.headers });
  };
  return { fetch, open };
}
