import { spawnSync } from 'node:child_process';
import { cpSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { StreamEvent } from '@toolscript/core/protocol';
import Libsql from 'libsql';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openEventLog } from '@toolscript/service/stores';
import {
  administrator,
  changedUrl,
  describeWithPostgres,
  newSchemaUrl,
  schemaOf,
} from '../../../service/test/stores/postgres/support/test-postgres.js';
import { describeWithOwnRedis, OwnRedis } from '../../../service/test/stores/redis/support/test-redis.js';
import { effectsIn } from '../support/one-script-agent.js';
import { startServer, type ProcessOptions, type ServerProcess } from './support/server-process.js';
import { event } from '../../../service/test/stores/support/one-event.js';
import { until } from '@toolscript/testkit/until';
import { newFolder } from '@toolscript/testkit/folder';

// Each test starts several processes.

/** The runs of a service at the moment of its backup. */
interface Runs {
  readonly ended: string;
  readonly suspended: string;
  readonly running: string;
}

async function submit({ client }: ServerProcess, code: string): Promise<string> {
  const body = { prompt: JSON.stringify({ steps: [{ type: 'script', code }] }), agentId: 'caller' };
  const answer = await client!.call('POST', '/api/v2/submit', body);
  expect(answer.status).toBe(202);
  return answer.body.runId;
}

const isStart = (tool: string) => (event: StreamEvent) =>
  event.payload.type === 'tool_call_start' && event.payload.tool === tool;

const approvals = async ({ client }: ServerProcess): Promise<{ approvalId: string }[]> =>
  (await client!.call('GET', '/api/v2/approvals')).body.data;

/** One run of each kind. Their clients have seen the last event of each so far. */
async function work(server: ServerProcess): Promise<Runs> {
  const ended = await submit(server, "return await tools.mark({ tag: 'ended' });");
  await server.client!.follow(ended);
  const suspended = await submit(server, "return await tools.note({ tag: 'decided' });");
  await server.client!.follow(suspended, { isLast: ({ payload }) => payload.type === 'response_done' });
  await until(async () => (await approvals(server)).length === 1);
  const running = await submit(
    server,
    "await tools.mark({ tag: 'before' }); await tools.wait({ tag: 'w' }); return await tools.mark({ tag: 'after' });",
  );
  await server.client!.follow(running, { isLast: isStart('wait') });
  return { ended, suspended, running };
}

/** The restored service has each run, and continues those that had not ended, without a second effect. */
async function expectContinued(server: ServerProcess, folder: string, runs: Runs): Promise<void> {
  writeFileSync(join(folder, 'go'), '');
  for (const { approvalId } of await approvals(server))
    expect((await server.client!.call('POST', `/api/v2/approvals/${approvalId}`, 'approve')).status).toBe(200);
  for (const runId of Object.values(runs)) {
    const events = await server.client!.follow(runId);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_event, index) => index));
    expect(events.at(-1)!.payload).toMatchObject({ type: 'response_done', status: 'completed' });
  }
  expect(effectsIn(join(folder, 'effects')).toSorted()).toEqual(['after', 'before', 'decided', 'ended']);
}

async function kill(server: ServerProcess): Promise<void> {
  server.child.kill('SIGKILL');
  await server.ended;
}

function run(program: string, ...words: string[]): void {
  const { status, stderr } = spawnSync(program, words, { encoding: 'utf8' });
  expect(status, stderr).toBe(0);
}

describe('a backup of the data folder', () => {
  it('that was made of a running server continues its runs: first the database, then the scripts', async () => {
    const [folder, copy] = [newFolder(), newFolder()];
    const server = await startServer(folder);
    const runs = await work(server);
    const database = new Libsql(join(folder, 'toolscript.db'));
    database.prepare('VACUUM INTO ?').run(join(copy, 'toolscript.db'));
    database.close();
    // A partial file has another name as soon as it is complete.
    const filter = (path: string) => basename(path) !== 'partial';
    cpSync(join(folder, 'scripts'), join(copy, 'scripts'), { recursive: true, filter });
    cpSync(join(folder, 'effects'), join(copy, 'effects'));
    await kill(server);
    await expectContinued(await startServer(copy), copy, runs);
  });

  it('that was copied after a crash needs the files -wal and -shm', async () => {
    const [folder, copy] = [newFolder(), newFolder()];
    const server = await startServer(folder);
    const runs = await work(server);
    await kill(server);
    cpSync(folder, copy, { recursive: true });
    await expectContinued(await startServer(copy), copy, runs);
  });
});

/** An empty database for a schema; its name is that of the schema. */
async function newDatabase(store: string): Promise<string> {
  const name = schemaOf(store);
  await administrator.query(`CREATE DATABASE ${name}`);
  onTestFinished(async () => void (await administrator.query(`DROP DATABASE ${name} WITH (FORCE)`)));
  return changedUrl(store, (url) => (url.pathname = `/${name}`));
}

/** True if the thread store has the event in which the run begins to wait. */
async function isStored(schema: string, runId: string): Promise<true | undefined> {
  const events = `SELECT 1 FROM ${schema}.events JOIN ${schema}.runs USING (transcript)
    WHERE run_id = $1 AND event LIKE '%"tool_call_start"%"wait"%'`;
  const { rowCount } = await administrator.query(events, [runId]);
  return rowCount === 0 ? undefined : true;
}

const hasDump = spawnSync('pg_dump', ['--version']).status === 0;
if (!hasDump) console.warn('Skipped: the program pg_dump is not installed. Install the client programs of PostgreSQL.');

describeWithPostgres('a dump of PostgreSQL', () =>
  describeWithOwnRedis('with live events in Redis', () => {
    it.skipIf(!hasDump)('continues its runs when the live events are deleted', async () => {
      const [folder, store, redis] = [newFolder(), await newSchemaUrl(), await OwnRedis.start('--appendonly', 'yes')];
      const roles: ProcessOptions['roles'] = ['api', 'worker', 'persistence'];
      const server = await startServer(folder, { store, events: redis.url(), roles });
      const runs = await work(server);
      // The persistence worker gathers the events of a run for a moment.
      await until(() => isStored(schemaOf(store), runs.running));
      const dump = join(folder, 'toolscript.dump');
      const source = changedUrl(store, (url) => (url.search = ''));
      run('pg_dump', '--format=custom', `--schema=${schemaOf(store)}`, `--file=${dump}`, source);
      // Lost with the original: the restored service has not seen it.
      const later = await submit(server, "return 'later';");
      await server.client!.follow(later);
      await kill(server);
      const restored = await newDatabase(store);
      const target = changedUrl(restored, (url) => (url.search = ''));
      run('pg_restore', '--single-transaction', `--dbname=${target}`, dump);
      redis.command('flushall');
      const second = await startServer(folder, { store: restored, events: redis.url(), roles });
      await expectContinued(second, folder, runs);
      expect((await second.client!.call('GET', `/api/v2/runs/${later}`)).status).toBe(404);
      await kill(second);
    });
  }),
);

describeWithOwnRedis('a copy of Redis’ append-only files', () => {
  it('of a killed server has every published event, and the positions of groups', async () => {
    const redis = await OwnRedis.start('--appendonly', 'yes', '--appendfsync', 'always');
    const group = { group: 'persistence', consumer: 'the test', leaseMs: 60_000 };
    const log = await openEventLog(redis.url());
    await log.open(event(0).run_id, 1);
    await log.publish(1, [event(0), event(1), event(2)]);
    await log.acknowledge((await log.receive(group))!, 1);
    await log.publish(1, [event(3)]);
    await log.close();
    await redis.kill();
    const restored = await OwnRedis.startFrom(redis, '--appendonly', 'yes');
    const again = await openEventLog(restored.url());
    onTestFinished(() => again.close());
    expect((await again.read('run_a')).events).toEqual([event(0), event(1), event(2), event(3)]);
    expect((await again.receive(group))!.events).toEqual([event(2), event(3)]);
  });
});
