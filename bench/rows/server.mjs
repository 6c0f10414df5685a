import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { alternate } from '../measure.mjs';

const TOKEN = 'token-of-the-benchmark';
const WORKERS = 200;
/** Each run emits this number of deltas a second, as a fast model does. */
const EVERY_MS = 50;
const IDLE_THREADS = 300;
const WAITING_RUNS = 100;
const OPEN_STREAMS = 500;

const LATENCY = { unit: 'ms', better: 'lower', limit: 50, limitOf: 'p99' };
const MEMORY = { unit: 'KB', better: 'lower' };

export const name = 'server';
export const ownResult = true;

/** The server over HTTP, in a separate process, over a file. Its clients run in this process. */
export async function measure({ effort }) {
  const server = await BenchServer.open();
  try {
    await server.play(5, effort.serverDeltas);
    const rows = [];
    for (const runs of [50, 200]) rows.push(...(await latencyRows(server, runs, effort)));
    rows.push(await throughputRow(server, effort), ...(await memoryRows(server)));
    return rows;
  } finally {
    await server.close();
  }
}

async function latencyRows(server, runs, { serverDeltas, serverRounds }) {
  const [firsts, cpus] = [[], []];
  const delta = {
    name: `server-delta-${runs}`,
    title: `a delta of the model to its byte at a client, ${runs} concurrent runs`,
    ...LATENCY,
    notes: [
      'plain http: the same deltas from the same process, without agent, store and log',
      `each run gives a delta every ${EVERY_MS} ms; the clients are in another process of the same machine`,
    ],
  };
  const first = {
    name: `server-first-event-${runs}`,
    title: `submit to the first event, ${runs} runs at once`,
    ...LATENCY,
  };
  const cpu = {
    name: `server-cpu-${runs}`,
    title: `CPU time of the server for a delta, ${runs} concurrent runs`,
    unit: 'µs',
    better: 'lower',
    notes: ['all threads; with the share of a run’s beginning and end'],
  };
  const playAll = async () => {
    const before = await server.cpuMicroseconds();
    const played = await server.play(runs, serverDeltas);
    cpus.push([((await server.cpuMicroseconds()) - before) / runs / serverDeltas]);
    firsts.push(played.map(({ firstMs }) => firstMs));
    return played.flatMap(({ delays }) => delays);
  };
  const playPlainly = async () => (await server.playPlainly(runs, serverDeltas)).flat();
  const columns = [...ours(playAll), { name: 'plain http', role: 'baseline', block: playPlainly }];
  const rows = [await alternate(delta, columns, serverRounds)];
  for (const [row, blocks] of [
    [first, firsts],
    [cpu, cpus],
  ])
    rows.push(
      await alternate(
        row,
        ours(() => blocks.shift()),
        serverRounds,
      ),
    );
  return rows;
}

function throughputRow(server, { serverRounds }) {
  const row = {
    name: 'server-throughput',
    title: 'runs of one delta, submitted and streamed to their end, by 50 clients',
    unit: 'runs/s',
    better: 'higher',
  };
  const block = async () => {
    const began = performance.now();
    for (let round = 0; round < 4; round += 1) await server.play(50, 1, 0);
    return [200 / ((performance.now() - began) / 1_000)];
  };
  return alternate(row, ours(block), serverRounds);
}

async function memoryRows(server) {
  const idle = await server.growth(IDLE_THREADS, async () => {
    for (let played = 0; played < IDLE_THREADS; played += 50) await server.play(50, 1, 0);
  });
  const waiting = [];
  const suspended = await server.growth(WAITING_RUNS, async () => {
    for (let made = 0; made < WAITING_RUNS; made += 1) waiting.push(await server.submitWaiting());
  });
  const streams = [];
  const open = await server.growth(OPEN_STREAMS, async () => {
    for (let made = 0; made < OPEN_STREAMS; made += 1) streams.push(await server.openStream(waiting[0]));
  });
  for (const stream of streams) stream.destroy();
  return [
    await memoryRow('server-memory-thread', 'memory of a thread whose run has ended', idle),
    await memoryRow('server-memory-waiting', 'memory of a run that waits for an approval', suspended),
    await memoryRow('server-memory-stream', 'memory of an open stream of a run that waits', open),
  ];
}

function memoryRow(rowName, title, kilobytes) {
  return alternate(
    { name: rowName, title, ...MEMORY },
    ours(() => [kilobytes]),
    1,
  );
}

function ours(block) {
  return [{ name: 'toolscript', role: 'ours', block }];
}

class BenchServer {
  #child;
  #baseUrl;
  #plainUrl;
  #agent = new http.Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });

  static async open() {
    const server = new BenchServer();
    const path = fileURLToPath(new URL('../children/server.mjs', import.meta.url));
    server.#child = fork(path, [TOKEN, String(WORKERS)], { execArgv: ['--expose-gc'] });
    [{ baseUrl: server.#baseUrl, plainUrl: server.#plainUrl }] = await once(server.#child, 'message');
    return server;
  }

  /** Concurrent runs, each to its end: the delay of its deltas, and the time of its first event. */
  play(runs, deltas, everyMs = EVERY_MS) {
    const prompt = JSON.stringify({ deltas, everyMs });
    return Promise.all(
      Array.from({ length: runs }, async () => {
        const began = performance.now();
        const reader = new DelayReader();
        const runId = await this.#submit('talker', prompt);
        await this.#read(`${this.#baseUrl}/api/v2/stream/${runId}`, (text) => reader.push(text));
        assert.equal(reader.delays.length, deltas, 'a delta is missing');
        assert.ok(reader.isCompleted, 'a run has not completed');
        return { delays: reader.delays, firstMs: reader.firstAtMs - began };
      }),
    );
  }

  /** Reads this many plain streams concurrently. Returns the delay of each delta, by stream. */
  playPlainly(streams, deltas, everyMs = EVERY_MS) {
    const url = `${this.#plainUrl}/${encodeURIComponent(JSON.stringify({ deltas, everyMs }))}`;
    return Promise.all(
      Array.from({ length: streams }, async () => {
        const reader = new DelayReader();
        await this.#read(url, (text) => reader.push(text));
        assert.equal(reader.delays.length, deltas, 'a delta is missing');
        return reader.delays;
      }),
    );
  }

  async submitWaiting() {
    const runId = await this.#submit('demo', 'please approve');
    for (;;) {
      const { status } = await this.#json('GET', `/api/v2/runs/${runId}`);
      if (status === 'suspended') return runId;
      await sleep(5);
    }
  }

  /** Resolves when the first events have arrived. */
  async openStream(runId) {
    const response = await this.#get(`${this.#baseUrl}/api/v2/stream/${runId}`);
    await once(response, 'data');
    response.on('error', () => {});
    return response;
  }

  /** The memory of each of `count` objects, in KB. */
  async growth(count, make) {
    const before = await this.#bytes();
    await make();
    return ((await this.#bytes()) - before) / 1_000 / count;
  }

  async close() {
    this.#agent.destroy();
    this.#child.send('close');
    await once(this.#child, 'exit');
  }

  async cpuMicroseconds() {
    const { user, system } = (await this.#ask('cpu')).cpu;
    return user + system;
  }

  async #bytes() {
    return (await this.#ask('memory')).bytes;
  }

  async #ask(question) {
    this.#child.send(question);
    return (await once(this.#child, 'message'))[0];
  }

  async #submit(agentId, prompt) {
    return (await this.#json('POST', '/api/v2/submit', { agentId, prompt })).runId;
  }

  async #json(method, path, body) {
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
    const options = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    const response = await fetch(`${this.#baseUrl}${path}`, options);
    assert.ok(response.ok, `${path} answered with ${response.status}`);
    return response.json();
  }

  async #read(url, hear) {
    const response = await this.#get(url);
    response.setEncoding('utf8').on('data', hear);
    await once(response, 'end');
  }

  async #get(url) {
    const request = http.get(url, {
      agent: this.#agent,
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    const [response] = await once(request, 'response');
    assert.equal(response.statusCode, 200);
    return response;
  }
}

/** Reads the times in the deltas of a text that arrives in chunks. */
class DelayReader {
  delays = [];
  isCompleted = false;
  firstAtMs = undefined;
  #rest = '';

  push(text) {
    const nowMs = performance.now();
    this.firstAtMs ??= nowMs;
    const frames = (this.#rest + text).split('\n\n');
    this.#rest = frames.pop();
    for (const frame of frames) {
      if (frame.includes('event: response_done')) this.isCompleted = frame.includes('"completed"');
      if (!frame.includes('event: item_delta')) continue;
      for (const [, atMs] of frame.matchAll(/<([\d.]+)>/gu))
        this.delays.push(performance.timeOrigin + nowMs - Number(atMs));
    }
  }
}
