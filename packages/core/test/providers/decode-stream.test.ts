import { describe, expect, test } from 'vitest';
import { foldResponse } from '#core/history/index.js';
import type { StreamEvent } from '#core/protocol/index.js';
import { decodeStream, type ProviderApi } from '#core/providers/index.js';
import { brokenLaws, eventsOf, responseOf, textOf } from './decoded.js';
import { OWN_STREAMS } from './own-streams.js';
import { piecesOf, streamOf } from './wire-text.js';

const APIS = Object.keys(OWN_STREAMS) as ProviderApi[];
const bodyOf = (api: ProviderApi) => Object.values(OWN_STREAMS[api])[0]!;

describe('decodeStream', () => {
  test.each(APIS)('%s: gives one run with complete envelopes', async (api) => {
    const events = await eventsOf(api, bodyOf(api));
    expect(brokenLaws(events)).toEqual([]);
    expect(events[0]).toMatchObject({
      event_id: 'evt_run_0',
      run_id: 'run',
      thread_id: 'thr',
      turn_id: 'turn',
      seq: 0,
    });
    expect(events[0]?.payload).toEqual({
      type: 'response_start',
      api,
      response_id: expect.any(String),
      model: 'model-1',
    });
  });

  test('generates a different id for each run without one', async () => {
    const runs = new Set<string>();
    for (const api of APIS) {
      for await (const event of decodeStream(api, bodyOf(api))) runs.add(event.run_id);
    }
    expect(runs.size).toBe(APIS.length);
  });

  test('rejects an unknown api at once', () => {
    expect(() => decodeStream('openai' as ProviderApi, '')).toThrow(
      'Unknown api "openai". Use one of openai-responses, openai-chat, anthropic-messages.',
    );
    expect(() => decodeStream('constructor' as ProviderApi, '')).toThrow('Unknown api');
  });

  test.each(APIS)('%s: text is emitted as soon as its event arrives', async (api) => {
    const [head, tail] = splitAfter(bodyOf(api), 'Grüße');
    let release: (() => void) | undefined;
    async function* slow() {
      yield head;
      await new Promise<void>((resolve) => (release = resolve));
      yield tail;
    }
    const seen: StreamEvent[] = [];
    for await (const event of decodeStream(api, slow())) {
      seen.push(event);
      if (event.payload.type !== 'item_delta' || !event.payload.delta.startsWith('Grüße')) continue;
      // Toolscript does not request the rest of the body before the test has consumed this event.
      expect(release).toBeUndefined();
      setTimeout(() => release?.(), 5);
    }
    expect(foldResponse(seen).status).toBe('completed');
  });

  test.each(APIS)('%s: reading stops at the end of the answer, and the body is closed', async (api) => {
    let closed = false;
    async function* endless() {
      try {
        yield bodyOf(api);
        for (;;) yield ': keep alive\n\n';
      } finally {
        closed = true;
      }
    }
    expect((await responseOf(api, endless())).status).toBe('completed');
    expect(closed).toBe(true);
  });

  test.each(APIS)('%s: a caller that stops closes the body', async (api) => {
    let closed = false;
    async function* body() {
      try {
        yield bodyOf(api);
      } finally {
        closed = true;
      }
    }
    for await (const event of decodeStream(api, body())) {
      if (event.seq === 1) break;
    }
    expect(closed).toBe(true);
  });

  test.each(APIS)('%s: a source that fails is an interrupted answer', async (api) => {
    const [head] = splitAfter(bodyOf(api), 'Grüße');
    async function* failing() {
      yield head;
      throw new Error('socket hang up');
    }
    const events = await eventsOf(api, failing());
    expect(brokenLaws(events)).toEqual([]);
    const response = foldResponse(events);
    expect(response).toMatchObject({
      status: 'failed',
      error: { code: 'AnswerInterrupted', message: 'socket hang up' },
    });
    expect(textOf(response)).toContain('Grüße');
    expect(response.output_items.at(-1)).toMatchObject({ type: 'message', cancelled: true });
  });

  test.each(APIS)('%s: half a call disappears when the answer is truncated', async (api) => {
    const response = await responseOf(api, splitAfter(bodyOf(api), '{\\"city\\":')[0]);
    expect(response).toMatchObject({ status: 'failed', error: { code: 'AnswerTruncated' } });
    expect(response.output_items.map(({ type }) => type)).not.toContain('function_call');
  });

  test.each(APIS)('%s: an event that is not JSON is a malformed answer', async (api) => {
    const [head, tail] = splitAfter(bodyOf(api), 'Grüße');
    const response = await responseOf(api, `${head}data: {"cut\n\n${tail}`);
    expect(response).toMatchObject({ status: 'failed', error: { code: 'AnswerMalformed' } });
    expect(response.error?.message).toBe(
      'An event of the stream is not JSON. Send the request again; the event is "{\\"cut"',
    );
  });

  test.each(APIS)('%s: a body that is not an answer is quoted in the error', async (api) => {
    expect((await responseOf(api, '<html>502 Bad Gateway</html>')).error).toEqual({
      code: 'AnswerMalformed',
      message:
        'The body is neither a stream of events nor JSON. Check baseUrl; the body begins with "<html>502 Bad Gateway</html>"',
    });
    expect((await responseOf(api, '')).error?.code).toBe('AnswerTruncated');
    expect((await responseOf(api, '{"id":"x","cho')).error?.code).toBe('AnswerTruncated');
    expect((await responseOf(api, '{"detail":"Not Found"}')).error?.message).toBe('Not Found');
    expect((await responseOf(api, '{"error":"model not found"}')).error?.message).toBe('model not found');
  });

  test.each(APIS)('%s: an error in the stream keeps the earlier text', async (api) => {
    const [head] = splitAfter(bodyOf(api), 'Grüße');
    for (const event of [
      'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
      'data: {"error":{"code":"overloaded_error","message":"Overloaded"}}\n\n',
    ]) {
      const response = await responseOf(api, head + event);
      expect(response).toMatchObject({ status: 'failed', error: { code: 'overloaded_error', message: 'Overloaded' } });
      expect(textOf(response)).toContain('Grüße');
    }
  });

  test('bytes are accepted in every form, also split within a character', async () => {
    const bytes = new TextEncoder().encode(bodyOf('openai-chat'));
    const whole = textOf(await responseOf('openai-chat', bodyOf('openai-chat')));
    expect(whole).toBe('Grüße, 😀\n天');
    const blob = new Blob([bytes]).stream() as unknown as AsyncIterable<Uint8Array>;
    const forms = [
      bytes,
      bytes.buffer,
      Buffer.from(bytes),
      blob,
      piecesOf(Array.from(bytes, (_, at) => bytes.subarray(at, at + 1))),
    ];
    for (const body of forms) expect(textOf(await responseOf('openai-chat', body))).toBe(whole);
  });

  test.each(APIS)('%s: a member of the wire with the name of our own member does not change ours', async (api) => {
    const ours = '"role":"system","api":"other","id":"x","content_parts":7,"arguments":7,"call_id":7,"success":7';
    const foreign = bodyOf(api).replaceAll(
      /"type":"(text|tool_use|thinking)"|"phase":"commentary"|"tool_calls":/gu,
      `${ours},$&`,
    );
    expect(foreign).not.toBe(bodyOf(api));
    const [before, after] = [await eventsOf(api, bodyOf(api)), await eventsOf(api, foreign)];
    expect(brokenLaws(after)).toEqual([]);
    const kept = (events: readonly StreamEvent[]) =>
      foldResponse(events).output_items.map((item) => [
        item.type,
        item.id,
        item.api,
        ...(item.type === 'message' ? [item.role, item.content] : []),
        ...(item.type === 'function_call' ? [item.call_id, item.name, item.arguments] : []),
      ]);
    expect(kept(after)).toEqual(kept(before));
  });

  test('an endless event is reported as too large', async () => {
    const piece = 'x'.repeat(1024 * 1024);
    async function* endless() {
      yield 'data: "';
      for (;;) yield piece;
    }
    expect((await responseOf('openai-chat', endless())).error?.code).toBe('AnswerTooLarge');
  });

  test('a stream of nothing but its end is truncated', async () => {
    expect((await responseOf('openai-chat', streamOf('[DONE]'))).error?.code).toBe('AnswerTruncated');
  });
});

/** The text up to the end of the event that contains `part`, and the rest. */
function splitAfter(body: string, part: string): [string, string] {
  const end = body.indexOf('\n\n', body.indexOf(part)) + 2;
  expect(body).toContain(part);
  return [body.slice(0, end), body.slice(end)];
}
