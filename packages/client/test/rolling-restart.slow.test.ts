import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { foldResponse } from '@toolscript/core/history';
import { createClient, type Client, type StreamEvent } from '@toolscript/client';
import { expect, it } from 'vitest';
import { startServer, type ServerProcess } from '../../server/test/crash/support/server-process.js';
import { storedRuns } from '../../server/test/crash/support/stored-runs.js';
import { describeWithPostgres, newSchemaUrl } from '../../service/test/stores/postgres/support/test-postgres.js';
import { describeWithOwnRedis, OwnRedis } from '../../service/test/stores/redis/support/test-redis.js';
import { effectsIn } from '../../server/test/support/one-script-agent.js';
import { TOKEN } from '../../server/test/support/test-server.js';
import { newFolder } from '@toolscript/testkit/folder';
import { until } from '@toolscript/testkit/until';

/** Half of the clients hold a run open while a process is replaced; the others submit new ones. */
const CLIENTS = 4;

const ROLES = ['api', 'worker', 'persistence'] as const;
type Role = (typeof ROLES)[number];

/** A run as its client has seen it. */
interface Seen {
  readonly runId: string;
  readonly tag: string;
  readonly events: readonly StreamEvent[];
}

/** The replaced processes: the runs that are held during the first replacement, the second, and so on. */
class Rounds {
  #held = 0;
  /** Also the name of the file in the folder of the service for which held runs wait. */
  current = 0;

  constructor(readonly folder: string) {}

  hold(round: number): void {
    if (round === this.current) this.#held += 1;
  }

  /** Resolves when a run of each client that holds runs waits. */
  untilHeld(): Promise<true> {
    return until(() => this.#held === CLIENTS / 2);
  }

  next(): void {
    writeFileSync(join(this.folder, `round-${this.current}`), '');
    this.current += 1;
    this.#held = 0;
  }
}

/** The processes of a service, and a load balancer: it sends each request to an API that is ready. */
class Service {
  readonly #start: (role: Role) => Promise<ServerProcess>;
  readonly #rounds: Rounds;
  readonly #processes = new Map<Role, ServerProcess[]>();
  #requests = 0;

  private constructor(start: (role: Role) => Promise<ServerProcess>, rounds: Rounds) {
    this.#start = start;
    this.#rounds = rounds;
  }

  static async open(start: (role: Role) => Promise<ServerProcess>, rounds: Rounds): Promise<Service> {
    const service = new Service(start, rounds);
    await Promise.all(ROLES.map((role) => service.#add(role)));
    return service;
  }

  readonly fetch: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    const apis = this.#processes.get('api')!;
    const { origin } = new URL(apis[(this.#requests += 1) % apis.length]!.url!);
    const { pathname, search } = new URL(request.url);
    return fetch(new Request(`${origin}${pathname}${search}`, request));
  };

  /**
   * Replaces each process, one after the other: first a new one, then SIGTERM for the old one, while it has runs that
   * cannot end.
   */
  async restart(): Promise<void> {
    for (const role of ROLES)
      for (const old of this.#processes.get(role)!) {
        await this.#rounds.untilHeld();
        await this.#add(role);
        this.#processes.set(
          role,
          this.#processes.get(role)!.filter((one) => one !== old),
        );
        old.child.kill('SIGTERM');
        expect(await old.ended, old.log()).toBe(null);
        expect(old.child.exitCode).toBe(0);
        this.#rounds.next();
      }
  }

  async #add(role: Role): Promise<void> {
    const server = await this.#start(role);
    this.#processes.set(role, [...(this.#processes.get(role) ?? []), server]);
  }
}

const starts = ({ payload }: StreamEvent, tool: string): boolean =>
  payload.type === 'tool_call_start' && payload.tool === tool;

/** Repeats the request under its key until it is accepted, as a client does after a lost answer or a status 503. */
async function submit(client: Client, tag: string, pause: string): Promise<string> {
  const code = `await tools.mark({ tag: '${tag}.a' }); ${pause}; return await tools.mark({ tag: '${tag}.b' });`;
  const body = { prompt: JSON.stringify({ steps: [{ type: 'script', code }] }), agentId: 'caller' };
  for (const idempotencyKey = randomUUID(); ;) {
    try {
      return (await client.submit(body, { idempotencyKey })).runId;
    } catch (error) {
      const { status } = error as { status?: number };
      if (status !== undefined && status !== 503) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

describeWithPostgres('a service of three processes', () =>
  describeWithOwnRedis('over PostgreSQL and Redis', () => {
    it('fails no accepted run and loses no event while each process is replaced, and streams resume', async () => {
      const [folder, store, redis] = [newFolder(), await newSchemaUrl(), await OwnRedis.start('--appendonly', 'yes')];
      const options = { store, events: redis.url(), drainMs: 100 };
      const rounds = new Rounds(folder);
      const service = await Service.open((role) => startServer(folder, { ...options, roles: [role] }), rounds);
      const client = createClient({ baseUrl: 'http://service', token: TOKEN, fetch: service.fetch });
      const isOver = new AbortController();
      let resumed = 0;
      const work = async (name: string, holds: boolean): Promise<Seen[]> => {
        const runs: Seen[] = [];
        while (!isOver.signal.aborted) {
          const tag = `${name}.${runs.length}`;
          const round = rounds.current;
          const pause = holds ? `await tools.meet({ tag: 'round-${round}' })` : 'await sleep(1200)';
          const runId = await submit(client, tag, pause);
          const events: StreamEvent[] = [];
          for await (const event of client.stream(runId, { onRetry: () => (resumed += 1) })) {
            events.push(event);
            if (starts(event, 'meet')) rounds.hold(round);
          }
          runs.push({ runId, tag, events });
        }
        return runs;
      };
      const working = Promise.all(Array.from({ length: CLIENTS }, (_, index) => work(`c${index}`, index % 2 === 0)));
      await service.restart();
      isOver.abort();
      rounds.next();
      const runs = (await working).flat();
      const effects = effectsIn(join(folder, 'effects'));
      const stored = await storedRuns(
        store,
        runs.map(({ runId }) => runId),
      );
      for (const [index, { tag, events }] of runs.entries()) {
        expect(events.map(({ seq }) => seq)).toEqual(events.map((_event, seq) => seq));
        expect(events.at(-1)!.payload).toMatchObject({ type: 'response_done', status: 'completed' });
        expect(foldResponse(events).output_items.map(({ type }) => type)).toContain('script_execution_output');
        expect(effects.filter((effect) => effect === `${tag}.a`)).toHaveLength(1);
        expect(effects.filter((effect) => effect === `${tag}.b`).length).toBeLessThanOrEqual(1);
        expect(stored[index]!.events).toEqual(events);
      }
      // Otherwise the restarts have interrupted no client.
      expect(resumed).toBeGreaterThan(0);
      expect(stored.some(({ run }) => run.epoch > 1)).toBe(true);
      expect(runs.length).toBeGreaterThan(CLIENTS);
    }, 300_000);
  }),
);
