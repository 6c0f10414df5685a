import { setTimeout as delay } from 'node:timers/promises';
import { isFinalRunState } from '@toolscript/core/internal';
import type { RunState, StreamEvent } from '@toolscript/core/protocol';
import { expect } from 'vitest';
import type { TestClient } from '../../support/test-server.js';
import type { ServerProcess } from './server-process.js';

/** A run that the server has accepted, and its client's data about it. */
export interface SubmittedRun {
  readonly key: string;
  readonly body: object;
  readonly runId: string;
  readonly threadId: string;
  /** The events of the stream, over all connections. */
  readonly events: StreamEvent[];
  /** The server has, or may have, accepted its cancellation. */
  isCancelled: boolean;
  state: RunState;
}

/** The number of runs at the same time. */
const OPEN_RUNS = 4;

/**
 * The clients of a server that is killed repeatedly: they submit, follow, decide, cancel, and repeat requests without
 * an answer.
 */
export class Workload {
  readonly runs = new Map<string, SubmittedRun>();
  /** Decisions that the server has accepted, by approval. */
  readonly decisions = new Map<string, 'approve' | 'deny'>();
  readonly #chance: () => number;
  /** The request without an answer yet. */
  #unanswered: { key: string; body: object } | undefined;
  #made = 0;

  constructor(chance: () => number) {
    this.#chance = chance;
  }

  /** Keeps the server busy until it ends. */
  async keepBusy(server: ServerProcess): Promise<void> {
    await this.#during(server, async (client) => {
      if (this.#open.length < OPEN_RUNS) await this.#submit(client);
      else await this.#repeat(client);
      return false;
    });
  }

  /** Until every run has ended. */
  async finish(server: ServerProcess): Promise<void> {
    await this.#during(server, async (client) => {
      if (this.#unanswered !== undefined) await this.#submit(client);
      return this.#open.length === 0;
    });
  }

  get #open(): SubmittedRun[] {
    return [...this.runs.values()].filter(({ state }) => !isFinalRunState(state));
  }

  async #during(server: ServerProcess, act: (client: TestClient) => Promise<boolean>): Promise<void> {
    const { client } = server;
    if (client === undefined) return;
    const following = new Set<string>();
    while (!server.hasEnded()) {
      try {
        if (await act(client)) break;
        for (const run of this.#open) {
          if (!following.has(run.runId)) void this.#follow(client, run).catch(() => {});
          following.add(run.runId);
        }
        await this.#decide(client);
        await this.#cancel(client);
        await this.#look(client);
      } catch (error) {
        // The server has ended, or is about to end.
        if (!(error instanceof TypeError) && !isBroken(error)) throw error;
      }
      await delay(5);
    }
    for (const run of this.runs.values()) if (!server.hasEnded()) await this.#follow(client, run);
  }

  async #submit(client: TestClient): Promise<void> {
    this.#unanswered ??= this.#newRequest();
    const { key, body } = this.#unanswered;
    const answer = await client.call('POST', '/api/v2/submit', body, { 'idempotency-key': key });
    expect(answer.status, JSON.stringify(answer.body)).toBe(202);
    this.#unanswered = undefined;
    const { runId, threadId } = answer.body;
    this.runs.set(runId, { key, body, runId, threadId, events: [], isCancelled: false, state: 'queued' });
  }

  /** The same request again gives the same run. */
  async #repeat(client: TestClient): Promise<void> {
    const all = [...this.runs.values()];
    const { key, body, runId, threadId } = all[Math.floor(this.#chance() * all.length)]!;
    const answer = await client.call('POST', '/api/v2/submit', body, { 'idempotency-key': key });
    expect(answer).toMatchObject({ status: 202, body: { runId, threadId } });
  }

  async #follow(client: TestClient, { runId, events }: SubmittedRun): Promise<void> {
    const isLast = (event: StreamEvent) => {
      expect(event.seq).toBe(events.length);
      events.push(event);
      return false;
    };
    await client.follow(runId, { from: events.length, isLast });
  }

  async #decide(client: TestClient): Promise<void> {
    const { body } = await client.call('GET', '/api/v2/approvals');
    for (const { approvalId } of body?.data ?? []) {
      const decision = this.#chance() < 0.7 ? 'approve' : 'deny';
      const answer = await client.call('POST', `/api/v2/approvals/${approvalId}`, decision);
      if (answer.status === 200) this.decisions.set(approvalId, decision);
    }
  }

  /** Every eighth run is cancelled at some point. */
  async #cancel(client: TestClient): Promise<void> {
    const run = this.#open.find(({ key, isCancelled }) => /[07]$/u.test(key) && !isCancelled);
    if (run === undefined || this.#chance() > 0.1) return;
    // A request without an answer may have been accepted.
    run.isCancelled = true;
    const { status } = await client.call('POST', `/api/v2/runs/${run.runId}/cancel`);
    run.isCancelled = status === 202;
  }

  async #look(client: TestClient): Promise<void> {
    for (const run of this.#open) {
      const { status, body } = await client.call('GET', `/api/v2/runs/${run.runId}`);
      expect(status, `the run ${run.runId} is lost`).toBe(200);
      run.state = body.status;
    }
  }

  #newRequest(): { key: string; body: object } {
    this.#made += 1;
    const key = `key-${this.#made}`;
    const steps = Array.from({ length: 1 + Math.floor(this.#chance() * 3) }, (_, step) => this.#step(`${key}.${step}`));
    const agentId = steps.some(({ type }) => type === 'call') || this.#chance() < 0.5 ? 'caller' : 'writer';
    return { key, body: { prompt: JSON.stringify({ steps }), agentId } };
  }

  #step(name: string) {
    const tag = (part: string) => JSON.stringify({ tag: `${name}.${part}`, ms: Math.floor(this.#chance() * 12) });
    switch (Math.floor(this.#chance() * 6)) {
      case 0:
        return { type: 'call', name: this.#chance() < 0.5 ? 'mark' : 'note', arguments: tag('a') };
      case 1:
        return script(`await tools.look(${tag('r')}); await sleep(5); return await keep(tools.mark(${tag('a')}));`);
      case 2:
        return script(`return await Promise.all([keep(tools.mark(${tag('a')})), keep(tools.mark(${tag('b')}))]);`);
      case 3:
        return script(`await keep(tools.mark(${tag('a')})); return await keep(tools.note(${tag('b')}));`);
      case 4:
        return script(
          `await Promise.all([keep(tools.note(${tag('a')})), keep(tools.note(${tag('b')}))]); return await keep(tools.mark(${tag('c')}));`,
        );
      default:
        return script(
          `await keep(tools.mark(${tag('a')})); console.log('one'); return await keep(tools.mark(${tag('b')}));`,
        );
    }
  }
}

function script(code: string) {
  return { type: 'script', code: `const keep = (call) => call.catch((error) => error.name);\n${code}` };
}

/** A response that the end of the server has interrupted. */
function isBroken(error: unknown): boolean {
  return error instanceof Error && (error.name === 'SyntaxError' || error.message.includes('terminated'));
}
