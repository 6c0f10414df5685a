import { setTimeout as delay } from 'node:timers/promises';
import { createClient, type Client, type Response, type StreamEvent } from '@toolscript/client';
import { foldResponse } from '@toolscript/core/history';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openTestServer, TOKEN, type TestServer } from '../../server/test/support/test-server.js';
import { talkingAgent } from '../../server/test/support/talking-agent.js';
import { cuttingFetch, type CuttingFetch } from './support/cutting-fetch.js';

/** `npm run soak:server` sets them higher. */
const RUNS = Number(process.env.TOOLSCRIPT_STREAM_RUNS ?? 12);
const DROPS = Number(process.env.TOOLSCRIPT_STREAM_DROPS ?? 40);
const SEED = Number(process.env.TOOLSCRIPT_STREAM_SEED ?? 16);

/** Some runs are too short for that number of interruptions. */
const CUTS_OF_A_CLIENT = Math.ceil((DROPS / RUNS) * 3);
const MAX_BYTES_TO_CUT = 2000;

/** Long enough that most runs work when the server restarts. */
const TALK = JSON.stringify({ pieces: 60, everyMs: RUNS > 50 ? 100 : 20 });
const PROMPTS = ['hello', 'please approve', TALK];

interface SubmittedRun {
  readonly runId: string;
  readonly threadId: string;
}

interface FollowedRun extends SubmittedRun {
  /** Read without pauses and interruptions. */
  readonly steady: readonly StreamEvent[];
  /** Read over connections that are interrupted. */
  readonly cut: readonly StreamEvent[];
  /** Read with pauses, from `from` on. */
  readonly slow: readonly StreamEvent[];
  readonly from: number;
  readonly live: Response;
}

/** A server that can be restarted under its clients. */
class RestartedServer {
  #server: TestServer;
  #restarts = 0;

  private constructor(server: TestServer) {
    this.#server = server;
  }

  static async open(): Promise<RestartedServer> {
    return new RestartedServer(await RestartedServer.#open());
  }

  static #open(folder?: string): Promise<TestServer> {
    const data = folder === undefined ? {} : { folder };
    return openTestServer({ agents: () => [talkingAgent()], workers: Math.min(RUNS, 1000), drainMs: 0, ...data });
  }

  get restarts(): number {
    return this.#restarts;
  }

  /** Runs that work go back to the queue. */
  async restart(): Promise<void> {
    await this.#server.close({ keepsData: true });
    this.#server = await RestartedServer.#open(this.#server.folder);
    this.#restarts += 1;
  }

  /** A client that finds the server after each restart. */
  client(send: typeof globalThis.fetch = fetch): Client {
    const toServer: typeof globalThis.fetch = (input, init) => {
      const url = new URL(input instanceof Request ? input.url : input);
      const moved = `${this.#server.url}${url.pathname}${url.search}`;
      return send(input instanceof Request ? new Request(moved, input) : moved, init);
    };
    return createClient({ baseUrl: 'http://server.invalid', token: TOKEN, fetch: toServer });
  }

  close(): Promise<void> {
    return this.#server.close();
  }
}

async function readAll(events: AsyncIterable<StreamEvent>, pauseMs = 0): Promise<StreamEvent[]> {
  const read: StreamEvent[] = [];
  for await (const event of events) {
    read.push(event);
    if (pauseMs > 0) await delay(pauseMs);
  }
  return read;
}

/** Approves every pending call, until it is stopped. */
async function approveAll(client: Client, isDone: () => boolean): Promise<void> {
  while (!isDone()) {
    const { data } = await client.approvals.list({ limit: 100 }).catch(() => ({ data: [] }));
    for (const { approvalId } of data) await client.approvals.decide(approvalId, 'approve').catch(() => {});
    await delay(50);
  }
}

function submit(client: Client, index: number): Promise<SubmittedRun> {
  const prompt = PROMPTS[index % PROMPTS.length]!;
  return client.submit({ prompt, agentId: prompt === TALK ? 'talker' : 'demo' });
}

async function follow(
  server: RestartedServer,
  { runId, threadId }: SubmittedRun,
  { from, cutting }: { from: number; cutting: CuttingFetch },
): Promise<FollowedRun> {
  const [steady, cut, slow, live] = await Promise.all([
    readAll(server.client().stream(runId)),
    readAll(server.client(cutting.fetch).stream(runId)),
    readAll(server.client().stream(runId, { from }), 5),
    server.client().response(runId).final(),
  ]);
  return { runId, threadId, steady, cut, slow, from, live };
}

async function checkRun(
  client: Client,
  { runId, threadId, steady, cut, slow, from, live }: FollowedRun,
): Promise<void> {
  expect(steady.map(({ seq }) => seq)).toEqual(steady.map((_event, seq) => seq));
  expect(steady.at(-1)!.payload).toMatchObject({ type: 'response_done', status: 'completed' });
  expect(cut).toEqual(steady);
  expect(slow).toEqual(steady.slice(from));
  const { items, runs } = await client.threads.get(threadId, { operations: 'full' });
  expect(runs).toMatchObject([{ runId, status: 'completed' }]);
  expect(JSON.parse(JSON.stringify(foldResponse(cut).output_items))).toEqual(items.slice(1));
  expect(JSON.parse(JSON.stringify(live.output_items))).toEqual(items.slice(1));
}

it('every client of every run folds to the stored thread, however it reads and whatever breaks', async () => {
  const began = performance.now();
  const server = await RestartedServer.open();
  const starts = fc.sample(fc.integer({ min: 0, max: 12 }), { seed: SEED, numRuns: RUNS });
  const cutting = starts.map((_start, index) =>
    cuttingFetch(SEED + index, { maxCuts: CUTS_OF_A_CLIENT, maxBytes: MAX_BYTES_TO_CUT }),
  );
  let isDone = false;
  const approving = approveAll(server.client(), () => isDone);
  const submitted = await Promise.all(starts.map((_start, index) => submit(server.client(), index)));
  const following = submitted.map((run, index) =>
    follow(server, run, { from: starts[index]!, cutting: cutting[index]! }),
  );
  await delay(500);
  await server.restart();
  const followed = await Promise.all(following);
  isDone = true;
  await approving;
  for (const run of followed) await checkRun(server.client(), run);
  const cuts = cutting.reduce((sum, one) => sum + one.cuts(), 0);
  const events = followed.reduce((sum, { steady }) => sum + steady.length, 0);
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  console.log(
    `${RUNS} runs, ${4 * RUNS} clients, ${events} events, ${cuts} cuts, ${server.restarts} restart, seed ${SEED}: ${seconds} s`,
  );
  expect(cuts).toBeGreaterThanOrEqual(DROPS);
  await server.close();
});
