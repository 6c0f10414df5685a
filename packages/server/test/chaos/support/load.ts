import { setTimeout as delay } from 'node:timers/promises';
import { foldResponse } from '@toolscript/core/history';
import { endsRun } from '@toolscript/core/stream';
import type { StreamEvent } from '@toolscript/core/protocol';
import type { TestClient } from '../../support/test-server.js';
import { PATIENCE_MS, type Cluster } from './cluster.js';

/** A run that the service has accepted. */
export interface LoadedRun {
  readonly key: string;
  readonly runId: string;
  /** No user decides the approval of this run. */
  readonly isLeft: boolean;
  /** The events of its client, over all connections. */
  readonly seen: StreamEvent[];
}

/** A script whose calls the clients have undone. */
export interface UndoneScript {
  readonly run: LoadedRun;
  readonly scriptId: string;
  /** The calls that stay, because nobody knows whether their undo has happened, or because they have no undo. */
  readonly notUndone: ReadonlySet<string>;
}

export interface LoadSettings {
  readonly cluster: Cluster;
  readonly chance: () => number;
  /** The minimum number of runs. */
  readonly total: number;
  /** True: runs are submitted beyond the minimum. */
  readonly isMoreWanted: () => boolean;
  /** The number of runs at the same time. */
  readonly open: number;
  /** Maximum number of reads of a long script, which takes a tenth of a second and more for each. */
  readonly rounds: number;
}

const DROP_CHANCE = 0.02;
const UNDO_CHANCE = 0.3;

/**
 * The clients of the service: they submit, follow each run at one of the API processes, lose their connection at
 * random, and decide each approval twice at once, at different processes. They undo the scripts of some runs.
 */
export class Load {
  readonly runs: LoadedRun[] = [];
  readonly undone: UndoneScript[] = [];
  /** The accepted decisions by approval. Law: one each. */
  readonly decisions = new Map<string, string[]>();
  /** Broken laws, which are found while the clients work. */
  readonly problems: string[] = [];
  drops = 0;
  reconnections = 0;
  refused = 0;
  readonly #settings: LoadSettings;
  readonly #ending = new AbortController();
  readonly #reloaded = new Set<string>();
  #open = 0;
  #made = 0;

  constructor(settings: LoadSettings) {
    this.#settings = settings;
  }

  get isSubmitted(): boolean {
    return !this.#isWanted;
  }

  get #isWanted(): boolean {
    return this.#made < this.#settings.total || this.#settings.isMoreWanted();
  }

  /** The clients of these runs read them from the beginning when they are over: their last events may be lost. */
  reload(runIds: readonly string[]): void {
    for (const runId of runIds) this.#reloaded.add(runId);
  }

  /** Resolves when every run has ended, or waits for a decision that no user makes. */
  async work(): Promise<void> {
    const deciding = this.#decideAll();
    const lives: Promise<void>[] = [];
    const { open, chance } = this.#settings;
    while (this.#isWanted) {
      if (this.#open < open) lives.push(this.#live());
      await delay(20 + chance() * 200);
    }
    await Promise.all(lives);
    this.#ending.abort();
    await deciding;
  }

  async #live(): Promise<void> {
    this.#open += 1;
    this.#made += 1;
    const key = `run-${this.#made}`;
    const { chance, rounds } = this.#settings;
    const { isLeft, steps } = stepsOf(key, chance, rounds);
    const agentId = chance() < 0.5 || steps.some(({ type }) => type === 'call') ? 'caller' : 'writer';
    const runId = await this.#submit(key, { prompt: JSON.stringify({ steps }), agentId });
    const run: LoadedRun = { key, runId, isLeft, seen: [] };
    this.runs.push(run);
    await this.#followToEnd(run);
    if (!isLeft && chance() < UNDO_CHANCE) for (const scriptId of scriptsOf(run)) await this.#undo(run, scriptId);
    this.#open -= 1;
  }

  /** Until no call is left that can be undone. A process may end or lose its stores during each undo. */
  async #undo(run: LoadedRun, scriptId: string): Promise<void> {
    const path = `/api/v2/scripts/${scriptId}/undo`;
    let last = '';
    for (const end = performance.now() + PATIENCE_MS; performance.now() < end; await delay(200)) {
      const done = await this.#ask((client) => client.call('POST', path, {}));
      const { status, body } = (await this.#ask((client) => client.call('GET', path))) ?? {};
      last = JSON.stringify([done?.status, done?.body, status, body]);
      if (status !== 200 || body.refusal?.code === 'busy' || body.calls.length > 0) continue;
      const calls = body.notUndone as { callId: string }[];
      this.undone.push({ run, scriptId, notUndone: new Set(calls.map(({ callId }) => callId)) });
      return;
    }
    this.problems.push(`${run.key} ${run.runId}: the script ${scriptId} could not be undone: ${last}`);
  }

  /** With the same key until it is accepted. */
  async #submit(key: string, body: object): Promise<string> {
    for (;;) {
      const answer = await this.#ask((client) =>
        client.call('POST', '/api/v2/submit', body, { 'idempotency-key': key }),
      );
      if (answer?.status === 202) return (answer.body as { runId: string }).runId;
      if (answer !== undefined && answer.status !== 503 && answer.status !== 408)
        this.problems.push(`${key} was refused: ${answer.status} ${JSON.stringify(answer.body)}`);
      this.refused += 1;
      await delay(200);
    }
  }

  async #followToEnd(run: LoadedRun): Promise<void> {
    let lastChange = performance.now();
    let isOver = false;
    while (!isOver) {
      const before = run.seen.length;
      isOver = await this.#follow(run).catch(() => false);
      if (this.#reloaded.has(run.runId)) {
        isOver = false;
        if (await this.#isAtRest(run)) {
          this.#reloaded.delete(run.runId);
          run.seen.length = 0;
          lastChange = performance.now();
        }
      }
      this.reconnections += 1;
      if (run.seen.length > before) lastChange = performance.now();
      if (performance.now() - lastChange > PATIENCE_MS) {
        this.problems.push(`${run.key} ${run.runId} had no event for ${PATIENCE_MS / 1000} s`);
        return;
      }
      await delay(50);
    }
  }

  async #isAtRest({ runId }: LoadedRun): Promise<boolean> {
    const answer = await this.#ask((client) => client.call('GET', `/api/v2/runs/${runId}`));
    const { status } = (answer?.body ?? {}) as { status?: string };
    return status !== undefined && !['queued', 'running'].includes(status);
  }

  /** True if the run is over for its client. */
  async #follow(run: LoadedRun): Promise<boolean> {
    const { seen } = run;
    const { apis } = this.#settings.cluster;
    const client = this.#oneOf(apis);
    if (client === undefined) return false;
    let isOver = false;
    const isLast = (event: StreamEvent): boolean => {
      if (this.#reloaded.has(run.runId)) return true;
      if (event.seq !== seen.length) {
        this.problems.push(`${run.key} got the event ${event.seq} after ${seen.length} events`);
        return true;
      }
      seen.push(event);
      isOver = endsRun(event.payload) || (run.isLeft && event.payload.type === 'response_done');
      const isDropped = this.#settings.chance() < DROP_CHANCE;
      if (isDropped) this.drops += 1;
      return isOver || isDropped;
    };
    await client.follow(run.runId, { lastEventId: seen.length - 1, isLast, maxMs: 20_000 });
    return isOver;
  }

  async #decideAll(): Promise<void> {
    while (!this.#ending.signal.aborted) {
      const answer = await this.#ask((client) => client.call('GET', '/api/v2/approvals?limit=100'));
      const pending = ((answer?.body as { data?: unknown } | undefined)?.data ?? []) as {
        approvalId: string;
        input: { tag: string };
      }[];
      await Promise.all(
        pending.filter(({ input }) => !input.tag.includes('.left')).map(({ approvalId }) => this.#decide(approvalId)),
      );
      await delay(100);
    }
  }

  /** Two users decide at once. */
  async #decide(approvalId: string): Promise<void> {
    const decide = async (decision: string): Promise<void> => {
      const answer = await this.#ask((client) => client.call('POST', `/api/v2/approvals/${approvalId}`, decision));
      if (answer?.status !== 200) return;
      this.decisions.set(approvalId, [...(this.decisions.get(approvalId) ?? []), decision]);
    };
    await Promise.all([decide('approve'), decide(this.#settings.chance() < 0.6 ? 'approve' : 'deny')]);
  }

  /** Undefined if no process answered. */
  async #ask<Answer>(request: (client: TestClient) => Promise<Answer>): Promise<Answer | undefined> {
    const client = this.#oneOf(this.#settings.cluster.apis);
    return client === undefined ? undefined : request(client).catch(() => undefined);
  }

  #oneOf(clients: readonly TestClient[]): TestClient | undefined {
    return clients[Math.floor(this.#settings.chance() * clients.length)];
  }
}

/** The scripts with an effect. The store has no others. */
function scriptsOf({ seen }: LoadedRun): readonly string[] {
  return foldResponse(seen).output_items.flatMap((item) =>
    item.type === 'script_execution_output' &&
    item.operations.some(({ effect, status }) => effect !== 'read' && status === 'completed')
      ? (item.script_id ?? [])
      : [],
  );
}

interface Step {
  readonly type: 'script' | 'call';
  readonly [member: string]: string;
}

/**
 * A turn of the model: short and long scripts, some of which only read, calls, saved scripts, detached tasks, and
 * approvals, some of which stay undecided.
 */
function stepsOf(key: string, chance: () => number, rounds: number): { isLeft: boolean; steps: Step[] } {
  const kind = chance();
  const argumentsOf = (part: string, ms = 30) =>
    JSON.stringify({ tag: `${key}.${part}`, ms: Math.floor(chance() * ms) });
  if (kind < 0.04) return { isLeft: true, steps: [script(`return await keep(tools.note(${argumentsOf('left')}));`)] };
  const steps: Step[] = [];
  if (kind < 0.45) steps.push(longScript(argumentsOf, 10 + Math.floor(chance() * rounds)));
  if (kind > 0.3 && kind < 0.6)
    steps.push(
      script(
        `await keep(tools.mark(${argumentsOf('a')})); return await Promise.all([keep(tools.note(${argumentsOf('b')})), keep(tools.mark(${argumentsOf('c')}))]);`,
      ),
    );
  if (kind > 0.5 && kind < 0.7)
    steps.push({ type: 'call', name: chance() < 0.7 ? 'mark' : 'note', arguments: argumentsOf('d', 400) });
  if (kind > 0.2 && kind < 0.3)
    steps.push(script(`for (let round = 0; round < 20; round += 1) await tools.look(${argumentsOf('reads', 200)});`));
  if (kind > 0.3 && kind < 0.4)
    steps.push(
      script(
        `const task = tools.spawn.exec('mark', ${argumentsOf('t', 2_000)}); await keep(tools.mark(${argumentsOf('g', 2_000)})); return await keep(task.done);`,
      ),
    );
  if (kind > 0.6 && kind < 0.7)
    steps.push(script(`return await keep(tools.snippets.run({ name: 'pair', input: ${argumentsOf('s', 1_000)} }));`));
  if (kind > 0.6)
    steps.push(
      script(`await keep(tools.mark(${argumentsOf('e')})); return await keep(tools.mark(${argumentsOf('f')}));`),
    );
  return { isLeft: false, steps };
}

/** Seconds of reads, with an effect at some of them. The effects last so long that the end of a process hits some. */
function longScript(argumentsOf: (part: string, ms?: number) => string, rounds: number): Step {
  const look = argumentsOf('read', 300);
  const effect = argumentsOf('long', 2_000);
  return script(
    `const effect = ${effect}; const kept = [];
for (let round = 0; round < ${rounds}; round += 1) {
  await tools.look(${look});
  if (round % 10 === 0) kept.push(await keep(tools.mark({ ...effect, tag: effect.tag + round })));
}
return kept.length;`,
  );
}

function script(code: string): Step {
  return { type: 'script', code: `const keep = (call) => call.catch((error) => error.name);\n${code}` };
}
