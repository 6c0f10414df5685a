import { connect, type AddressInfo } from 'node:net';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import type { StreamEvent } from '@toolscript/core/protocol';
import fastify from 'fastify';
import { expect, it } from 'vitest';
import { sendEvents, sendFrames, type EventStreamOptions } from '#server/http/sse.js';
import { until } from '@toolscript/testkit/until';

const TEXT = 'x'.repeat(1000);

/** Bytes that the buffers of the operating system may hold for a connection on one machine, with room to spare. */
const MAX_SYSTEM_BUFFERS = 24 * 1024 * 1024;

/** Bytes that the server itself may hold for a connection. */
const MAX_UNSENT = 256 * 1024;

function eventOf(seq: number): StreamEvent {
  const payload = { type: 'item_delta' as const, item_id: 'item_1', delta: TEXT };
  return { event_id: `evt_${seq}`, run_id: 'run_1', thread_id: 'thr_1', turn_id: 'turn_1', seq, timestamp: 0, payload };
}

/** A server with one stream, and the end of the stream. */
async function openStream(
  source: (signal: AbortSignal) => AsyncIterable<StreamEvent>,
  options: Partial<EventStreamOptions>,
) {
  const app = fastify({ forceCloseConnections: true });
  const state = { unsent: 0, isDropped: false, isEnded: false };
  app.get('/', async (_request, reply) => {
    const controller = new AbortController();
    const watch = setInterval(() => (state.unsent = Math.max(state.unsent, reply.raw.writableLength)), 5);
    const onDropped = () => (state.isDropped = true);
    await sendEvents(reply, source(controller.signal), { controller, onDropped, ...options });
    clearInterval(watch);
    state.isEnded = true;
    return reply;
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  return { state, port, url: `http://127.0.0.1:${port}/`, close: () => app.close() };
}

/** A client that sends a request and reads nothing. */
function askWithoutReading(port: number) {
  const socket = connect(port, '127.0.0.1', () => socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'));
  socket.pause();
  socket.on('error', () => {});
  return socket;
}

it.each([
  ['at once', async () => {}],
  ['one after another', () => nextTurn()],
])('a client that stops reading costs a bounded buffer, and is dropped: events arrive %s', async (_name, pause) => {
  let produced = 0;
  async function* endless(signal: AbortSignal) {
    for (let seq = 0; !signal.aborted; seq += 1) {
      produced += TEXT.length;
      yield eventOf(seq);
      await pause();
    }
  }
  const { state, port, close } = await openStream(endless, { stallMs: 500 });
  const socket = askWithoutReading(port);
  await until(() => state.isEnded);
  expect(state.isDropped).toBe(true);
  expect(produced).toBeLessThan(MAX_SYSTEM_BUFFERS);
  expect(state.unsent).toBeLessThan(MAX_UNSENT);
  socket.destroy();
  await close();
});

it('a client that reads slowly gets everything and is not dropped', async () => {
  const count = 20_000;
  async function* long() {
    for (let seq = 0; seq < count; seq += 1) yield eventOf(seq);
  }
  const { state, url, close } = await openStream(long, { stallMs: 60_000 });
  const { body } = await fetch(url);
  let text = '';
  const decoder = new TextDecoder();
  let chunks = 0;
  for await (const chunk of body!) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    if (chunks++ % 20 === 0) await delay(20);
  }
  expect([...text.matchAll(/^id: (\d+)$/gmu)].map(([, seq]) => Number(seq))).toEqual(
    Array.from({ length: count }, (_, seq) => seq),
  );
  expect(state).toMatchObject({ isDropped: false, isEnded: true });
  expect(state.unsent).toBeLessThan(MAX_UNSENT);
  await close();
});

it('sends heartbeats while idle, and ends when its client leaves', async () => {
  async function* silent(signal: AbortSignal) {
    yield eventOf(0);
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  }
  const { state, url, close } = await openStream(silent, { heartbeatMs: 20 });
  const leave = new AbortController();
  const { body, headers } = await fetch(url, { signal: leave.signal });
  expect(headers.get('content-encoding')).toBeNull();
  expect(headers.get('cache-control')).toContain('no-transform');
  let text = '';
  for await (const chunk of body!) {
    text += new TextDecoder().decode(chunk as Uint8Array);
    if (text.split(': alive\n\n').length > 3) break;
  }
  leave.abort();
  await until(() => state.isEnded);
  expect(text.startsWith('id: 0\nevent: item_delta\ndata: {')).toBe(true);
  await close();
});

it('sends no heartbeat inside of a frame that has several parts', async () => {
  const app = fastify({ forceCloseConnections: true });
  app.get('/', async (_request, reply) => {
    const parts = async function* () {
      yield 'data: one';
      await delay(100);
      yield ' frame\n\n';
      await delay(100);
      yield 'data: another\n\n';
    };
    await sendFrames(reply, parts(), { controller: new AbortController(), heartbeatMs: 5 });
    return reply;
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const text = await (await fetch(`http://127.0.0.1:${port}/`)).text();
  expect(text).toMatch(/^(: alive\n\n)*data: one frame\n\n(: alive\n\n)+data: another\n\n/u);
  await app.close();
});
