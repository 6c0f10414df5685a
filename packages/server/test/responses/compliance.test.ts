import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TOKEN } from '../support/test-server.js';
import { openResponsesServer, PIXEL, WEATHER, type ResponsesServer } from './support/responses-server.js';
import { EventSchema, ResponseSchema, type SpecifiedEvent } from './support/specification.js';

/*
 * The templates of the compliance suite of Open Responses (https://github.com/openresponses/openresponses), by their
 * ids: requests of the same shape, held against the same demands. docs/reference/responses.md lists the same templates.
 */

interface Answer {
  readonly id: string;
  readonly status: string;
  readonly output: readonly { readonly type: string; readonly call_id?: string }[];
}

let server: ResponsesServer;

beforeAll(async () => {
  server = await openResponsesServer();
});

afterAll(() => server.close());

function send(body: object): Promise<Response> {
  return fetch(`${server.url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'helper', ...body }),
  });
}

async function whole(body: object): Promise<Answer> {
  const response = await send({ ...body, stream: false });
  expect(response.status).toBe(200);
  const answer = ResponseSchema.parse(await response.json());
  expect(answer.output.length).toBeGreaterThan(0);
  return answer as Answer;
}

async function streamed(body: object): Promise<{ events: SpecifiedEvent[]; answer: Answer }> {
  const response = await send({ ...body, stream: true });
  expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/u);
  const frames = (await response.text()).split('\n\n').filter((frame) => frame !== '' && !frame.startsWith(':'));
  expect(frames.pop()).toBe('data: [DONE]');
  const events = frames.map((frame) => {
    const [, name, data] = /^event: (.+)\ndata: (.+)$/u.exec(frame)!;
    const event = EventSchema.parse(JSON.parse(data!));
    expect(event.type).toBe(name);
    return event;
  });
  const last = events.at(-1) as SpecifiedEvent & { response: Answer };
  expect(last.type).toMatch(/^response\.(completed|failed|incomplete)$/u);
  return { events, answer: last.response };
}

const user = (content: unknown) => ({ type: 'message', role: 'user', content });
const tools = [WEATHER];

const TEMPLATES: Readonly<Record<string, () => Promise<void>>> = {
  'basic-response': async () => {
    expect(await whole({ input: [user('Greet me in three words.')] })).toMatchObject({ status: 'completed' });
  },
  'streaming-response': async () => {
    const { answer } = await streamed({ input: [user('say one to five')] });
    expect(answer.status).toBe('completed');
  },
  'system-prompt': async () => {
    const system = { type: 'message', role: 'system', content: 'You are a pirate.' };
    expect(await whole({ input: [system, user('Greet me.')] })).toMatchObject({ status: 'completed' });
  },
  'tool-calling': async () => {
    const { output } = await whole({ input: [user('How is the weather in Oslo?')], tools });
    expect(output.map(({ type }) => type)).toContain('function_call');
  },
  'tool-calling-streaming': async () => {
    const { events } = await streamed({ input: [user('How is the weather in Oslo?')], tools });
    const types = events.map((event) =>
      'item' in event ? `${event.type} ${(event.item as { type: string }).type}` : event.type,
    );
    expect(types).toEqual(
      expect.arrayContaining([
        'response.output_item.added function_call',
        'response.function_call_arguments.delta',
        'response.function_call_arguments.done',
        'response.output_item.done function_call',
      ]),
    );
  },
  'function-call-roundtrip': async () => {
    const tool_choice = { type: 'function', name: WEATHER.name };
    const first = await whole({ input: 'Use the tool for the weather.', tools, tool_choice });
    const { call_id } = first.output.find(({ type }) => type === 'function_call')!;
    const input = [{ type: 'function_call_output', call_id, output: '64 degrees and clear' }];
    expect(await whole({ previous_response_id: first.id, input })).toMatchObject({ status: 'completed' });
  },
  'image-input': async () => {
    const content = [
      { type: 'input_text', text: 'What is in this image?' },
      { type: 'input_image', image_url: `data:image/png;base64,${PIXEL}` },
    ];
    expect(await whole({ input: [user(content)] })).toMatchObject({ status: 'completed' });
  },
  'multi-turn': async () => {
    const assistant = { type: 'message', role: 'assistant', content: 'Hello Alice!' };
    const input = [user('My name is Alice.'), assistant, user('What is my name?')];
    expect(await whole({ input })).toMatchObject({ status: 'completed' });
  },
  'previous-response-id': async () => {
    const { id } = await whole({ input: 'The code word is papaya.' });
    expect(await whole({ previous_response_id: id, input: 'What was it?' })).toMatchObject({ status: 'completed' });
  },
};

/** Templates for features that are not offered: the request is rejected with a reason. */
const REFUSED: Readonly<Record<string, object>> = {
  'file-input': {
    input: [user([{ type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERg==' }])],
  },
  'file-search': { input: 'Search.', tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] },
  'offline-web-search': { input: 'Search.', tools: [{ type: 'web_search', external_web_access: false }] },
};

describe('the compliance suite of Open Responses', () => {
  it.each(Object.keys(TEMPLATES))('passes: %s', (id) => TEMPLATES[id]!());

  it.each(Object.keys(REFUSED))('does not apply, and is rejected: %s', async (id) => {
    const response = await send(REFUSED[id]!);
    expect(response.status).toBe(400);
    expect(((await response.json()) as { error: { message: string } }).error.message).not.toBe('');
  });

  it('is listed in the documentation as here', () => {
    const page = readFileSync(new URL('../../../../docs/reference/responses.md', import.meta.url), 'utf8');
    const rows = [...page.matchAll(/^\| `([a-z-]+)` \| (passes|does not apply)/gmu)].map(([, id, result]) => [
      id,
      result,
    ]);
    expect(Object.fromEntries(rows)).toEqual({
      ...Object.fromEntries(Object.keys(TEMPLATES).map((id) => [id, 'passes'])),
      ...Object.fromEntries(Object.keys(REFUSED).map((id) => [id, 'does not apply'])),
    });
  });
});
