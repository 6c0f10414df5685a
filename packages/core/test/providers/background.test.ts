import { describe, expect, onTestFinished, test } from 'vitest';
import { createProvider, startScriptedServer, type ProviderOptions, type Scenario } from '#core/providers/index.js';
import type { EventPayload } from '#core/protocol/index.js';
import { openWorld, play } from '../agent/running.js';
import { ask, payloadsOf, user } from './asking.js';

/* Background answers of Responses: the service continues an answer whose connection was lost. */

const CUT = { type: 'cut' } as const;
const WORDS = { type: 'text', text: 'These are many words, which arrive in several pieces.' } as const;
const THOUGHT = { type: 'reasoning', text: 'Hm.' } as const;
const MORE = { type: 'text', text: 'And these come later.' } as const;

type Turns = Scenario['turns'];

/** A background model over HTTP. `requests`: the methods and paths of its requests. */
async function open(
  turns: Turns,
  options: Partial<ProviderOptions> = {},
  lose: (path: string) => boolean = () => false,
) {
  const server = await startScriptedServer({ turns });
  onTestFinished(() => server.close());
  const requests: string[] = [];
  const provider = createProvider('openai-responses', {
    model: 'model-1',
    baseUrl: server.baseUrl,
    retries: { maxRetries: 2, baseDelayMs: 1 },
    environment: {},
    responses: { background: true },
    fetch: (url, init) => {
      const { pathname, search } = new URL(url);
      requests.push(`${init.method} ${pathname}${search}`);
      if (lose(pathname)) return Promise.reject(new TypeError('fetch failed'));
      return fetch(url, init);
    },
    ...options,
  });
  return { server, provider, requests };
}

const REQUEST = { conversation: [user('Go')] };
const place = (search: string) =>
  expect.stringMatching(new RegExp(`^GET /v1/responses/resp_answer_1\\?stream=true&starting_after=${search}$`, 'u'));

describe('a background answer', () => {
  test.each<[string, readonly (typeof CUT | typeof WORDS | typeof MORE | typeof THOUGHT)[], number]>([
    ['after its text', [WORDS, CUT, MORE], 1],
    ['before its first item', [CUT, WORDS], 1],
    ['again and again', [WORDS, CUT, THOUGHT, CUT, CUT, MORE, CUT], 3],
  ])('whose connection is lost %s has each event once', async (_when, parts, losses) => {
    const lost = await open([{ parts: [...parts] }]);
    const payloads = await payloadsOf(lost.provider, REQUEST);
    const said = parts.flatMap((part) => (part.type === 'cut' ? [] : [part.text]));
    const items = payloads.flatMap((payload) => (payload.type === 'item_done' ? [payload.final_item] : []));
    expect(items.map(({ content }) => content)).toEqual(said);
    const deltas = payloads.flatMap((payload) => (payload.type === 'item_delta' ? [payload.delta] : []));
    expect(deltas.join('')).toBe(said.join(''));
    expect(payloads.filter(({ type }) => type === 'item_start')).toHaveLength(said.length);
    expect(payloads.at(-1)).toMatchObject({ type: 'response_done', status: 'completed' });
    expect(lost.requests).toEqual(['POST /v1/responses', ...Array.from({ length: losses }, () => place('\\d+'))]);
    expect(lost.server.requests).toEqual([expect.objectContaining({ background: true, store: true, stream: true })]);
    expect(lost.server.violations).toEqual([]);
  });

  test('has each event once, at whatever byte the connection is lost', async () => {
    const whole = await open([{ parts: [THOUGHT, WORDS] }]);
    const options = { answerId: 'ans_1' };
    const expected = await payloadsOf(whole.provider, REQUEST, options);
    const body = await wholeBody();
    const create = body.indexOf('\n\n') + 2;
    for (let bytes = create; bytes < body.length; bytes += Math.floor(body.length / 12)) {
      let isFirst = true;
      const lossy: ProviderOptions['fetch'] = async (url, init) => {
        const response = await fetch(url, init);
        if (!isFirst) return response;
        isFirst = false;
        return new Response(await cutBody(response, bytes), response);
      };
      const { provider } = await open([{ parts: [THOUGHT, WORDS] }], { fetch: lossy });
      expect({ bytes, payloads: await payloadsOf(provider, REQUEST, options) }).toEqual({ bytes, payloads: expected });
      expect(isFirst).toBe(false);
    }
  });

  test('fails if its rest cannot be read, and is cancelled', async () => {
    const { provider, requests } = await open([{ parts: [WORDS, CUT, MORE] }], {}, (path) => path.includes('resp_'));
    const { status } = await ask(provider, REQUEST);
    expect(status).toBe('failed');
    await expect
      .poll(() => requests)
      .toEqual([
        'POST /v1/responses',
        ...Array.from({ length: 3 }, () => place('\\d+')),
        'POST /v1/responses/resp_answer_1/cancel',
      ]);
  });

  test('that its reader aborts is cancelled, and not read again', async () => {
    const { provider, requests } = await open([{ parts: [WORDS, { type: 'wait', ms: 60_000 }, MORE] }]);
    const stop = new AbortController();
    const last: EventPayload[] = [];
    for await (const payload of provider.stream(REQUEST, { signal: stop.signal })) {
      last.push(payload);
      if (payload.type === 'item_delta') stop.abort();
    }
    expect(last.at(-1)).toMatchObject({ type: 'response_done', status: 'cancelled' });
    await expect.poll(() => requests).toEqual(['POST /v1/responses', 'POST /v1/responses/resp_answer_1/cancel']);
  });

  test('continues a run of an agent', async () => {
    const script = { type: 'script', code: 'return (await tools.add({ a: 1, b: 2 })).sum;' } as const;
    const scene = await open([{ parts: [WORDS, CUT, script] }, { parts: [CUT, MORE] }]);
    const world = openWorld();
    const { response } = await play(world, scene, {});
    expect(response.status).toBe('completed');
    expect(world.calls).toEqual(['add {"a":1,"b":2}']);
    expect(scene.server.violations).toEqual([]);
    expect(scene.server.turnsLeft).toBe(0);
  });
});

test('an answer whose connection is lost fails if it is no background answer', async () => {
  const { provider, requests } = await open([{ parts: [WORDS, CUT, MORE] }], { responses: {} });
  expect((await ask(provider, REQUEST)).status).toBe('failed');
  expect(requests).toEqual(['POST /v1/responses']);
});

async function wholeBody(): Promise<string> {
  let body = '';
  const copying: ProviderOptions['fetch'] = async (url, init) => {
    body = await (await fetch(url, init)).text();
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  };
  const { provider } = await open([{ parts: [THOUGHT, WORDS] }], { fetch: copying });
  await payloadsOf(provider, REQUEST);
  return body;
}

/** The first bytes of a body, after which the connection breaks. */
async function cutBody(response: Response, bytes: number): Promise<ReadableStream<Uint8Array>> {
  const body = new Uint8Array(await response.arrayBuffer());
  let isSent = false;
  return new ReadableStream({
    pull(controller) {
      if (isSent) return controller.error(new Error('The connection broke.'));
      isSent = true;
      controller.enqueue(body.subarray(0, bytes));
    },
  });
}
