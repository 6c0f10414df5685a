import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { StoreUnavailableError } from '@toolscript/core/ports';
import type { Run, StreamEvent } from '@toolscript/core/protocol';
import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { openDatabase } from '#service/stores/index.js';
import { changedUrl, describeWithPostgres, newSchemaUrl } from './support/test-postgres.js';
import { freePort } from '@toolscript/testkit/free-port';

const INPUT = [{ type: 'message' as const, id: 'item_1', role: 'user' as const, content: 'hello' }];
const DRAFT = { principal: 'ada', thread: { create: { title: 'a thread' } }, input: INPUT };

/** A network between the store and the server, which can fail. */
class Network {
  readonly #sockets = new Set<Socket>();
  readonly #target: URL;
  #listener: Server | undefined;
  #port: number | undefined;
  /** The next answer to a statement that contains this text is lost, with the connection. */
  losesAnswerTo: string | undefined;
  /** Connections that send this text end. */
  refuses: string | undefined;
  /** New connections get no answer. */
  isSilent = false;
  /** All connections stay open, and no data passes. */
  losesEverything = false;

  constructor(url: string) {
    this.#target = new URL(url);
  }

  get connections(): Server {
    return this.#listener!;
  }

  get url(): string {
    return changedUrl(this.#target.href, (made) => Object.assign(made, { hostname: '127.0.0.1', port: this.#port }));
  }

  async start(): Promise<void> {
    this.#port ??= await freePort();
    this.#listener = createServer((socket) => this.#relay(socket)).listen(this.#port, '127.0.0.1');
    await once(this.#listener, 'listening');
  }

  stop(): void {
    this.#listener?.close();
    for (const socket of this.#sockets) socket.destroy();
    this.#sockets.clear();
  }

  #relay(client: Socket): void {
    if (this.isSilent || this.losesEverything) return void client.on('error', () => {}).resume();
    const server = connect(Number(this.#target.port || 5432), this.#target.hostname);
    let isLost = false;
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.on('error', () => {});
    }
    client.on('data', (data) => {
      if (this.losesEverything) return;
      if (this.losesAnswerTo !== undefined && data.includes(this.losesAnswerTo)) {
        isLost = true;
        this.losesAnswerTo = undefined;
      }
      if (this.refuses !== undefined && data.includes(this.refuses)) client.destroy();
      else server.write(data);
    });
    server.on('data', (data) => this.losesEverything || (isLost ? client.destroy() : client.write(data)));
    server.on('close', () => client.destroy());
    client.on('close', () => server.destroy());
  }
}

function deltaOf({ runId, threadId, turnId }: Run): StreamEvent {
  const names = { run_id: runId, thread_id: threadId, turn_id: turnId };
  const payload = { type: 'item_delta' as const, item_id: 'item_1', delta: 'text' };
  return { event_id: 'evt_1', ...names, seq: 0, timestamp: 1, payload };
}

async function open() {
  const network = new Network(await newSchemaUrl());
  await network.start();
  const database = await openDatabase(network.url);
  onTestFinished(async () => {
    await database.close();
    network.stop();
  });
  return { network, ...database, scripts: database.scripts! };
}

describeWithPostgres('a server that goes away', () => {
  it('is awaited, and calls are carried out when it is back', async () => {
    const { network, stores } = await open();
    const { run } = await stores.runs.create(DRAFT);
    network.stop();
    const calls = Promise.all([stores.runs.get(run.runId), stores.runs.create(DRAFT), stores.threads.list()]);
    await delay(300);
    await network.start();
    const [found, created] = await calls;
    expect(found?.runId).toBe(run.runId);
    expect((await stores.runs.list()).runs.map(({ runId }) => runId)).toEqual([run.runId, created.run.runId]);
  });

  it('without a sign is missed: a call ends when a new connection gets no answer either', async () => {
    const { network, stores } = await open();
    await stores.runs.list();
    const happened: string[] = [];
    network.losesEverything = true;
    network.connections.once('connection', () => happened.push('a new connection'));
    const refused = stores.runs.list();
    refused.catch(() => happened.push('the end of the call'));
    await expect(refused).rejects.toThrow(StoreUnavailableError);
    expect(happened).toEqual(['a new connection', 'the end of the call']);
    network.losesEverything = false;
    expect((await stores.runs.list()).runs).toEqual([]);
  });

  it('is not suspected of it if it answers a new connection: a slow statement continues', async () => {
    const { network, stores } = await open();
    const { run } = await stores.runs.create(DRAFT);
    const locking = new pg.Client(network.url);
    await locking.connect();
    await locking.query('BEGIN');
    await locking.query('SELECT * FROM runs FOR UPDATE');
    const asked = once(network.connections, 'connection');
    const cancelled = stores.runs.requestCancel(run.runId);
    await asked;
    await delay(500);
    await locking.query('COMMIT');
    expect(await cancelled).toMatchObject({ runId: run.runId, state: 'queued' });
    await locking.end();
  });

  it('during the commit of a new run leaves it in doubt, which the error says', async () => {
    const { network, stores } = await open();
    network.losesAnswerTo = 'COMMIT\0';
    const refused = stores.runs.create(DRAFT);
    await expect(refused).rejects.toThrow(StoreUnavailableError);
    await expect(refused).rejects.toThrow(/ended during a commit, so the change may have been stored or not/u);
    expect((await stores.runs.list()).runs).toHaveLength(1);
  });

  it('during an append to a journal or a claim of a script leaves it written once', async () => {
    const { network, scripts } = await open();
    network.losesAnswerTo = 'COMMIT\0';
    const taken = await scripts.claim.take('scr_a', 0, { owner: 'a test', leaseMs: 60_000, lines: ['zero'] });
    expect(taken).toEqual({ epoch: 1, lines: [], slot: undefined, damage: undefined });
    network.losesAnswerTo = 'script_lines';
    await scripts.journal.append('scr_a', 1, ['one'], { slot: 'a slot' });
    await scripts.journal.append('scr_a', 1, ['two']);
    const content = { lines: ['zero', 'one', 'two'], slot: 'a slot', damage: undefined };
    expect(await scripts.journal.read('scr_a')).toEqual(content);
  });

  it('during the end of a run ends the run once', async () => {
    const { network, stores } = await open();
    const { run } = await stores.runs.create({ ...DRAFT, claim: { owner: 'a test', leaseMs: 60_000 } });
    network.losesAnswerTo = 'COMMIT\0';
    const ended = await stores.runs.finish({ runId: run.runId, epoch: 1 }, { state: 'completed' });
    expect(ended).toMatchObject({ state: 'completed', epoch: 1 });
  });

  it('wakes readers without notifications too, as over a pooler', async () => {
    const { network, stores, log } = await open();
    network.refuses = 'LISTEN';
    const { run } = await stores.runs.create({ ...DRAFT, claim: { owner: 'a test', leaseMs: 60_000 } });
    const other = await openDatabase(network.url);
    onTestFinished(() => other.close());
    const events = log.subscribe(run.runId)[Symbol.asyncIterator]();
    const first = events.next();
    await other.log.open(run.runId, 1);
    await other.log.publish(1, [deltaOf(run)]);
    expect((await first).value).toMatchObject({ seq: 0 });
  });

  it('does not hold up a store that is closed while it connects', async () => {
    const { network, log, close } = await open();
    const connected = once(network.connections, 'connection');
    network.isSilent = true;
    const next = log.subscribe('run_a')[Symbol.asyncIterator]().next();
    await connected;
    await close();
    expect(await next).toEqual({ value: undefined, done: true });
  });

  it('wakes readers again when it is back', async () => {
    const { network, stores, log } = await open();
    const { run } = await stores.runs.create({ ...DRAFT, claim: { owner: 'a test', leaseMs: 60_000 } });
    const other = await openDatabase(network.url);
    onTestFinished(() => other.close());
    const first = log.subscribe(run.runId)[Symbol.asyncIterator]().next();
    await delay(200);
    network.stop();
    await network.start();
    await other.log.open(run.runId, 1);
    await other.log.publish(1, [deltaOf(run)]);
    expect((await first).value).toMatchObject({ seq: 0 });
  });
});
