import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const TOKEN = 'token-of-the-benchmark';
const CHILD = fileURLToPath(new URL('../children/server.mjs', import.meta.url));

/** Each run emits this number of deltas a second, as a fast model does. */
export const EVERY_MS = 50;

/** A service of one or several processes. Its clients run in this process. */
export class BenchServer {
  #children;
  #baseUrl;
  #plainUrl;
  #agent = newAgent();

  /** `processes`: the options of each process; the first one answers requests. Default: one over a file. */
  static async open(processes = [{ workers: 200 }]) {
    const server = new BenchServer();
    server.#children = processes.map((options) =>
      fork(CHILD, [JSON.stringify({ token: TOKEN, ...options })], { execArgv: ['--expose-gc'] }),
    );
    const opened = await Promise.all(server.#children.map((child) => once(child, 'message')));
    [[{ baseUrl: server.#baseUrl, plainUrl: server.#plainUrl }]] = opened;
    return server;
  }

  /** Concurrent runs, each to its end: the delay of its deltas, and the time of its first event. */
  play(runs, deltas, everyMs = EVERY_MS) {
    this.#renewConnections();
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
    this.#renewConnections();
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

  /** Approves the pending calls of the run. */
  async approve(runId) {
    const { data } = await this.#json('GET', `/api/v2/approvals?runId=${runId}`);
    assert.ok(data.length > 0, 'the run waits for no approval');
    for (const { approvalId } of data)
      await this.#json('POST', `/api/v2/approvals/${approvalId}`, { decision: 'approve' });
  }

  /** The memory of each of `count` objects, in KB. */
  async growth(count, make) {
    const before = await this.#bytes();
    await make();
    return ((await this.#bytes()) - before) / 1_000 / count;
  }

  async close() {
    this.#agent.destroy();
    await Promise.all(
      this.#children.map((child) => {
        const ended = once(child, 'exit');
        child.send('close');
        return ended;
      }),
    );
  }

  /** The CPU time of all processes. */
  async cpuMicroseconds() {
    const answers = await Promise.all(this.#children.map((child) => ask(child, 'cpu')));
    return answers.reduce((sum, { cpu: { user, system } }) => sum + user + system, 0);
  }

  /** The memory of the process that answers requests. */
  async #bytes() {
    return (await ask(this.#children[0], 'memory')).bytes;
  }

  /** The server closes idle connections, perhaps just when one is used again. Open streams keep theirs. */
  #renewConnections() {
    for (const sockets of Object.values(this.#agent.freeSockets)) for (const socket of sockets) socket.destroy();
    this.#agent = newAgent();
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

function newAgent() {
  return new http.Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
}

async function ask(child, question) {
  child.send(question);
  return (await once(child, 'message'))[0];
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
