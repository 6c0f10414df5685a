import { limitedAnswer, MAX_MESSAGE_BYTES } from '#mcp/connection/limited-answer.js';
import { answerRequests } from '#mcp/connection/inbound.js';
import { serverFetch } from '#mcp/connection/server-fetch.js';
import type { Client } from '@modelcontextprotocol/client';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { listen } from './support/http-servers.js';

const CHUNK = new Uint8Array(1024 * 1024).fill(0x78);

/** An answer that repeats a chunk without end, and counts what was read. */
function endless(contentType: string, chunk: Uint8Array<ArrayBuffer>) {
  const counts = { chunks: 0, isCancelled: false };
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      counts.chunks += 1;
      controller.enqueue(chunk);
    },
    cancel() {
      counts.isCancelled = true;
    },
  });
  return { answer: limitedAnswer(new Response(body, { headers: { 'content-type': contentType } })), counts };
}

describe('an answer over HTTP without end', () => {
  it.each([
    ['JSON', 'application/json', CHUNK],
    ['one event', 'text/event-stream', CHUNK],
    ['one event of many lines', 'text/event-stream', new TextEncoder().encode('data: x\r\n'.repeat(100_000))],
  ])('ends after the maximum of one message: %s', async (_name, type, chunk) => {
    const { answer, counts } = endless(type, chunk);
    await expect(answer.text()).rejects.toThrow('the maximum');
    expect(counts.chunks * chunk.length).toBeLessThan(MAX_MESSAGE_BYTES + 4 * chunk.length);
    expect(counts.isCancelled).toBe(true);
  });

  it('goes on while each of its events is small', async () => {
    const event = new TextEncoder().encode(`data: ${'x'.repeat(1_000_000)}\r\n\r\n`);
    const { answer } = endless('text/event-stream', event);
    let bytes = 0;
    for await (const { length } of answer.body!) {
      bytes += length;
      if (bytes > 3 * MAX_MESSAGE_BYTES) break;
    }
    expect(bytes).toBeGreaterThan(3 * MAX_MESSAGE_BYTES);
  });

  it('ends for every request of a connection', async () => {
    const address = await listen((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      Readable.from(endlessChunks())
        .on('error', () => {})
        .pipe(response);
    });
    const url = new URL(address);
    const answer = await serverFetch({ type: 'http', url, headers: {}, shown: address })(url);
    await expect(answer.text()).rejects.toThrow('the maximum');
  });
});

describe('a message over HTTP is measured before it is parsed', () => {
  const DEEP = '['.repeat(20_000);
  const read = (type: string, body: string) =>
    limitedAnswer(new Response(body, { headers: { 'content-type': type } })).text();

  it.each([
    ['deep JSON', 'application/json', DEEP, /nested more than 1000 levels/u],
    ['JSON of many values', 'application/json', `[${'0,'.repeat(1_000_000)}0]`, /more than 1000000 values/u],
    ['a deep event', 'text/event-stream', `data: 1\n\ndata: ${DEEP}\n\n`, /nested more/u],
    ['a deep event without an end', 'Text/Event-Stream', `data: ${DEEP}`, /nested more/u],
    ['a deep event of many lines', 'text/event-stream', 'data: [[[\r\n'.repeat(5_000), /nested more/u],
    ['one behind a comment with a quote', 'text/event-stream', `: "\ndata:${DEEP}\n\n`, /nested more/u],
    ['one behind closing brackets', 'text/event-stream', `data:${']'.repeat(30_000)}\r\rdata:${DEEP}`, /nested more/u],
  ])('%s', async (_name, type, body, message) => {
    await expect(read(type, body)).rejects.toThrow(message);
  });

  it.each(['application/json', 'text/event-stream'])('and passes unchanged otherwise: %s', async (type) => {
    const body = `data: ${JSON.stringify({ a: '['.repeat(2_000) })}\n\n: x\n\ndata: é`;
    expect(await read(type, body)).toBe(body);
  });
});

/** More than one message may have, so that an answer without a limit ends too. */
function* endlessChunks() {
  for (let bytes = 0; bytes < 4 * MAX_MESSAGE_BYTES; bytes += CHUNK.length) yield CHUNK;
}

it('a page that a server asks the user to open is a web page', async () => {
  const handlers = new Map<string, (...given: unknown[]) => unknown>();
  const client = { setRequestHandler: (method: string, handler: never) => handlers.set(method, handler) };
  const shown: unknown[] = [];
  answerRequests(client as unknown as Client, 'server', {
    onElicitation: async ({ host }) => {
      shown.push(host);
      return { action: 'accept' };
    },
  });
  const ask = (url: string) =>
    handlers.get('elicitation/create')!(
      { params: { mode: 'url', message: 'open', url } },
      { mcpReq: { signal: new AbortController().signal } },
    );
  for (const page of ['file:///etc/passwd', 'http://one.example/', 'https://one.example@two.example/', 'nothing'])
    expect(await ask(page)).toEqual({ action: 'decline' });
  for (const page of ['https://one.example/', 'http://127.0.0.1:9/'])
    expect(await ask(page)).toEqual({ action: 'accept' });
  expect(shown).toEqual(['one.example', '127.0.0.1:9']);
});
