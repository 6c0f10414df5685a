import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { ScriptedEndpoint } from '#core/providers/scripted/scripted-endpoint.js';
import { scriptedModel, type Scenario } from '#core/providers/index.js';
import { ToolscriptUsageError } from '#core/protocol/index.js';
import { APIS, callsOf, RUN_SCRIPT, scriptOutput, Talk, user } from './asking.js';

/** Requests that break each rule of the scripted provider on purpose. */

type Body = Record<string, unknown>;

const PATHS = { responses: '/v1/responses', chat: '/v1/chat/completions', messages: '/v1/messages' } as const;

const parameters = { type: 'object', properties: {} };

const responses = (input: unknown[], more: Body = {}): Body => ({
  model: 'm',
  instructions: 'Be brief.',
  input,
  tools: [{ type: 'function', name: 'getWeather', parameters, strict: false }],
  include: ['reasoning.encrypted_content'],
  stream: true,
  ...more,
});

const chat = (messages: unknown[], more: Body = {}): Body => ({
  model: 'm',
  messages: [{ role: 'system', content: 'Be brief.' }, ...messages],
  tools: [{ type: 'function', function: { name: 'getWeather', parameters } }],
  stream: true,
  ...more,
});

const messages = (list: unknown[], more: Body = {}): Body => ({
  model: 'm',
  max_tokens: 100,
  system: 'Be brief.',
  messages: list,
  tools: [{ name: 'getWeather', input_schema: parameters }],
  stream: true,
  ...more,
});

const scenario: Scenario = {
  turns: [
    {
      parts: [
        { type: 'reasoning', text: 'Hm.' },
        { type: 'call', name: 'getWeather', arguments: { city: 'Oslo' }, call_id: 'call_1' },
        { type: 'call', name: 'getWeather', arguments: { city: 'Rome' }, call_id: 'call_2' },
      ],
    },
    { parts: [{ type: 'text', text: 'Done.' }] },
  ],
};

/** The violation of the last of the requests; undefined if it breaks no rule. */
function violationOf(path: string, ...bodies: Body[]): string | undefined {
  const endpoint = new ScriptedEndpoint(scenario);
  for (const [index, body] of bodies.entries()) {
    const reply = endpoint.reply({ path, headers: {}, body: JSON.stringify(body) });
    if (reply.type === 'stream') reply.heard();
    if (index < bodies.length - 1 && reply.type !== 'stream') throw new Error(endpoint.violations.join());
  }
  return endpoint.violations[0];
}

const go = { role: 'user', content: 'Go' };

const seal = Buffer.from('sealed rs_1_0: Hm.').toString('base64');
const rs = {
  type: 'reasoning',
  id: 'rs_1_0',
  summary: [{ type: 'summary_text', text: 'Hm.' }],
  encrypted_content: seal,
};
const fc = (n: number, city: string): Body => ({
  type: 'function_call',
  call_id: `call_${n}`,
  name: 'getWeather',
  arguments: JSON.stringify({ city }),
});
const fco = (n: number): Body => ({ type: 'function_call_output', call_id: `call_${n}`, output: '4' });
const oslo = fc(1, 'Oslo');
const rome = fc(2, 'Rome');

const tc = (n: number, city: string): Body => ({
  id: `call_${n}`,
  type: 'function',
  function: { name: 'getWeather', arguments: JSON.stringify({ city }) },
});
const answer = {
  role: 'assistant',
  content: null,
  reasoning_content: 'Hm.',
  tool_calls: [tc(1, 'Oslo'), tc(2, 'Rome')],
};
const tool = (n: number): Body => ({ role: 'tool', tool_call_id: `call_${n}`, content: '4' });

const use = (n: number, city: string): Body => ({
  type: 'tool_use',
  id: `call_${n}`,
  name: 'getWeather',
  input: { city },
});
const thinking = { type: 'thinking', thinking: 'Hm.', signature: seal };
const block = { role: 'assistant', content: [thinking, use(1, 'Oslo'), use(2, 'Rome')] };
const result = (n: number): Body => ({ type: 'tool_result', tool_use_id: `call_${n}`, content: '4' });

const BROKEN: readonly [name: string, sentence: RegExp | undefined, path: string, ...bodies: Body[]][] = [
  // Responses
  [
    'responses: all as it should be',
    undefined,
    PATHS.responses,
    responses([go]),
    responses([go, rs, oslo, rome, fco(1), fco(2)]),
  ],
  [
    'responses: an unknown member',
    /body: Unrecognized key: "stop"/u,
    PATHS.responses,
    responses([go], { stop: ['x'] }),
  ],
  [
    'responses: an unknown member of an item',
    /input\.0.*Unrecognized key/u,
    PATHS.responses,
    responses([{ ...go, name: 'x' }]),
  ],
  ['responses: not streamed', /stream/u, PATHS.responses, responses([go], { stream: false })],
  [
    'responses: an earlier message changed',
    /Message 0 was changed/u,
    PATHS.responses,
    responses([go]),
    responses([{ ...go, content: 'No' }, rs, oslo, rome, fco(1), fco(2)]),
  ],
  [
    'responses: the tools changed',
    /tools changed/u,
    PATHS.responses,
    responses([go]),
    responses([go, rs, oslo, rome, fco(1), fco(2)], { tools: [] }),
  ],
  [
    'responses: the system text changed',
    /system text/u,
    PATHS.responses,
    responses([go]),
    responses([go, rs, oslo, rome, fco(1), fco(2)], { instructions: 'No.' }),
  ],
  [
    'responses: the reasoning is missing',
    /part 0 was .*reasoning/u,
    PATHS.responses,
    responses([go]),
    responses([go, oslo, rome, fco(1), fco(2)]),
  ],
  [
    'responses: the reasoning was changed',
    /part 0/u,
    PATHS.responses,
    responses([go]),
    responses([go, { ...rs, encrypted_content: 'x' }, oslo, rome, fco(1), fco(2)]),
  ],
  [
    'responses: the arguments were written anew',
    /part 1/u,
    PATHS.responses,
    responses([go]),
    responses([go, rs, { ...oslo, arguments: '{ "city": "Oslo" }' }, rome, fco(1), fco(2)]),
  ],
  ['responses: a call was left out', /part 2/u, PATHS.responses, responses([go]), responses([go, rs, oslo, fco(1)])],
  [
    'responses: a call has no output',
    /"call_2" has no result/u,
    PATHS.responses,
    responses([go]),
    responses([go, rs, oslo, rome, fco(1)]),
  ],
  [
    'responses: the outputs come in another order',
    /results follow their calls in order/u,
    PATHS.responses,
    responses([go]),
    responses([go, rs, oslo, rome, fco(2), fco(1)]),
  ],
  [
    'responses: a second output',
    /second result/u,
    PATHS.responses,
    responses([go]),
    responses([go, rs, oslo, rome, fco(1), fco(2), fco(2)]),
  ],
  ['responses: an output of no call', /belongs to no call/u, PATHS.responses, responses([go, fco(9)])],
  [
    'responses: an output of another kind',
    /is a custom_tool_call_output/u,
    PATHS.responses,
    responses([go, oslo, { ...fco(1), type: 'custom_tool_call_output' }]),
  ],
  [
    'responses: a message between calls and outputs',
    /"call_1" has no result before this message/u,
    PATHS.responses,
    responses([go]),
    responses([go, rs, oslo, rome, go, fco(1), fco(2)]),
  ],
  [
    'responses: calls without tools',
    /defines no tools/u,
    PATHS.responses,
    responses([go, oslo, fco(1)], { tools: [] }),
  ],
  [
    'responses: an illegal name of a call',
    /name: Invalid string/u,
    PATHS.responses,
    responses([go, { ...oslo, name: 'tools.add' }, fco(1)]),
  ],
  ['responses: reasoning that leads to nothing', /the item that follows/u, PATHS.responses, responses([go, rs, go])],
  [
    'responses: nothing to answer',
    /nothing to answer/u,
    PATHS.responses,
    responses([go, { role: 'assistant', content: 'x' }]),
  ],
  // Chat
  ['chat: all as it should be', undefined, PATHS.chat, chat([go]), chat([go, answer, tool(1), tool(2)])],
  [
    'chat: the reasoning is missing',
    /part 0/u,
    PATHS.chat,
    chat([go]),
    chat([go, { ...answer, reasoning_content: undefined }, tool(1), tool(2)]),
  ],
  ['chat: a call has no result', /"call_2" has no result/u, PATHS.chat, chat([go]), chat([go, answer, tool(1)])],
  [
    'chat: a user message in between',
    /"call_1" has no result before this message/u,
    PATHS.chat,
    chat([go]),
    chat([go, answer, go, tool(1), tool(2)]),
  ],
  [
    'chat: the results come in another order',
    /in order/u,
    PATHS.chat,
    chat([go]),
    chat([go, answer, tool(2), tool(1)]),
  ],
  [
    'chat: an empty assistant message',
    /neither content nor tool_calls/u,
    PATHS.chat,
    chat([go, { role: 'assistant', content: null }, go]),
  ],
  [
    'chat: an image in a tool message',
    /content/u,
    PATHS.chat,
    chat([
      go,
      answer,
      { ...tool(1), content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,x' } }] },
      tool(2),
    ]),
  ],
  // Messages
  [
    'messages: all as it should be',
    undefined,
    PATHS.messages,
    messages([go]),
    messages([go, block, { role: 'user', content: [result(1), result(2), { type: 'text', text: 'Go on' }] }]),
  ],
  [
    'messages: a signature was changed',
    /part 0/u,
    PATHS.messages,
    messages([go]),
    messages([
      go,
      { ...block, content: [{ ...thinking, signature: 'x' }, ...block.content.slice(1)] },
      { role: 'user', content: [result(1), result(2)] },
    ]),
  ],
  [
    'messages: thinking is missing',
    /part 0/u,
    PATHS.messages,
    messages([go]),
    messages([go, { ...block, content: block.content.slice(1) }, { role: 'user', content: [result(1), result(2)] }]),
  ],
  [
    'messages: text before the results',
    /must come first/u,
    PATHS.messages,
    messages([go, block, { role: 'user', content: [{ type: 'text', text: 'x' }, result(1), result(2)] }]),
  ],
  [
    'messages: results in two messages',
    /"call_2" has no result before this message/u,
    PATHS.messages,
    messages([go, block, { role: 'user', content: [result(1)] }, { role: 'user', content: [result(2)] }]),
  ],
  [
    'messages: blank text',
    /non-whitespace/u,
    PATHS.messages,
    messages([{ role: 'user', content: [{ type: 'text', text: ' \n' }] }]),
  ],
  [
    'messages: five cache marks',
    /cache marks/u,
    PATHS.messages,
    messages(
      Array.from({ length: 5 }, () => ({
        role: 'user',
        content: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } }],
      })),
    ),
  ],
  [
    'messages: the assistant begins',
    /first message/u,
    PATHS.messages,
    messages([{ role: 'assistant', content: 'x' }, go]),
  ],
  [
    'messages: an answer ends with thinking',
    /cannot be reasoning/u,
    PATHS.messages,
    messages([go, { role: 'assistant', content: [thinking] }, go]),
  ],
  [
    'messages: a budget above the bound',
    /budget_tokens/u,
    PATHS.messages,
    messages([go], { thinking: { type: 'enabled', budget_tokens: 2000 } }),
  ],
  ['messages: no bound', /max_tokens/u, PATHS.messages, messages([go], { max_tokens: undefined })],
];

describe('the scripted provider', () => {
  test.each(BROKEN)('%s', (_, sentence, path, ...bodies) => {
    const violation = violationOf(path, ...bodies);
    if (sentence === undefined) expect(violation).toBeUndefined();
    else expect(violation).toMatch(sentence);
  });

  test('a request that breaks a rule consumes no turn, and a repeated request is valid', () => {
    const endpoint = new ScriptedEndpoint(scenario);
    const reply = (body: Body) => endpoint.reply({ path: PATHS.chat, headers: {}, body: JSON.stringify(body) });
    expect(reply(chat([go], { nonsense: true }))).toMatchObject({ type: 'json', status: 400 });
    expect(endpoint.turnsLeft).toBe(2);
    expect(reply(chat([go])).type).toBe('stream');
    // The end of the first answer was lost, so the caller repeats the request.
    expect(reply(chat([go])).type).toBe('stream');
    expect(endpoint.turnsLeft).toBe(0);
    expect(reply(chat([go]))).toMatchObject({ status: 400 });
    expect(endpoint.violations[1]).toContain('are used up');
  });

  test('an unknown path, a body that is not JSON and a wrong key are reported as such', () => {
    const endpoint = new ScriptedEndpoint({ turns: [], api_key: 'k' });
    const headers = { authorization: 'Bearer k' };
    expect(endpoint.reply({ path: '/v1/nothing', headers, body: '{}' })).toMatchObject({ status: 404 });
    expect(endpoint.reply({ path: PATHS.chat, headers: {}, body: '{}' })).toMatchObject({ status: 401 });
    expect(endpoint.reply({ path: PATHS.chat, headers, body: '{' })).toMatchObject({ status: 400 });
    expect(endpoint.violations).toEqual(['The request body is not JSON. Send a JSON object.']);
  });

  test.each(APIS)('the scenario of the documentation is played over %s', async (api) => {
    const page = readFileSync(new URL('../../../../docs/reference/providers.md', import.meta.url), 'utf8');
    const [, json] = /```json\n([^]*?)```/u.exec(page)!;
    const model = scriptedModel(JSON.parse(json!) as Scenario, { api });
    const talk = new Talk(model, { tools: [RUN_SCRIPT], reasoningEffort: 'low' });
    const [call] = callsOf(await talk.say(user('Weather?')));
    const last = await talk.say(scriptOutput(call!.call_id, 'Script completed, 1 operation.'));
    expect(last.output_items).toMatchObject([{ content: 'It is cold.' }]);
    expect(model.violations).toEqual([]);
    expect(model.turnsLeft).toBe(0);
  });

  test('a request aside has its own system text, and the conversation before continues after it', () => {
    const turn = (said: string) => ({ parts: [{ type: 'text' as const, text: said }] });
    const endpoint = new ScriptedEndpoint({ turns: [turn('One.'), { ...turn('Two.'), aside: true }, turn('Three.')] });
    const say = (list: Body[], more: Body = {}): string => {
      const reply = endpoint.reply({ path: PATHS.chat, headers: {}, body: JSON.stringify({ ...chat(list), ...more }) });
      if (reply.type === 'stream') reply.heard();
      return reply.type;
    };
    const own = { messages: [go], tools: undefined };
    expect(say([go])).toBe('stream');
    expect(say([go], own)).toBe('stream');
    expect(say([go], own)).toBe('json');
    expect(say([go, go])).toBe('json');
    expect(say([go, { role: 'assistant', content: 'One.' }, go])).toBe('stream');
    expect(endpoint.violations[0]).toContain('The system text or the tools changed');
    expect(endpoint.violations[1]).toContain('came back changed');
  });

  test('an invalid scenario is rejected with the wrong member', () => {
    const wrong = { turns: [{ parts: [{ type: 'text', text: 'x', speed: 1 }] }] };
    expect(() => scriptedModel(wrong as never)).toThrow(ToolscriptUsageError);
    expect(() => scriptedModel(wrong as never)).toThrow(/speed/u);
  });

  test('an answer that was stopped at its script may be sent back up to there', () => {
    const endpoint = new ScriptedEndpoint({
      turns: [
        {
          parts: [
            { type: 'script', code: 'return 1;', carrier: 'text' },
            { type: 'text', text: ' a tail' },
          ],
        },
        { parts: [{ type: 'text', text: 'Done.' }] },
      ],
    });
    const reply = (body: Body) => endpoint.reply({ path: PATHS.chat, headers: {}, body: JSON.stringify(body) });
    const first = reply(chat([go]));
    if (first.type === 'stream') first.heard();
    const script = '<tool-calls>\nreturn 1;\n</tool-calls>';
    expect(reply(chat([go, { role: 'assistant', content: `${script} a` }, go]))).toMatchObject({ status: 400 });
    expect(reply(chat([go, { role: 'assistant', content: script }, go])).type).toBe('stream');
  });
});
