import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { ToolscriptUsageError, type EventLog, type StreamEvent } from '@toolscript/core/protocol';
import { StoreUnavailableError } from '@toolscript/core/ports';
import { openEventLog } from '#service/stores/index.js';
import { REDIS_SCRIPTS } from '#service/stores/redis/scripts.js';
import { describeWithOwnRedis, OwnRedis } from './support/test-redis.js';
import { freePort } from '@toolscript/testkit/free-port';

const USER_OF_LOG = fileURLToPath(new URL('support/open-log.mjs', import.meta.url));

const WITH_FILE = ['--appendonly', 'yes', '--appendfsync', 'always'];

const event = (run: string, seq: number, isEnd = false): StreamEvent => ({
  event_id: `evt_${run}_${seq}`,
  run_id: run,
  thread_id: 'thr_a',
  turn_id: 'turn_a',
  seq,
  timestamp: 175e10 + seq,
  payload: isEnd
    ? { type: 'response_done', status: 'completed' }
    : { type: 'item_delta', item_id: 'item_1', delta: `text ${seq}` },
});

async function opened(url: string): Promise<EventLog> {
  const log = await openEventLog(url);
  onTestFinished(() => log.close());
  return log;
}

async function faultOf(url: string): Promise<string> {
  const fault = await openEventLog(url).then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(fault).toSatisfy((error) => error instanceof StoreUnavailableError || error instanceof ToolscriptUsageError);
  return (fault as Error).message;
}

describeWithOwnRedis('a Redis server of its own', () => {
  it('a publication and a subscription wait for a server that restarts, and lose nothing', async () => {
    const redis = await OwnRedis.start(...WITH_FILE);
    const [writer, reader] = [await opened(redis.url()), await opened(redis.url())];
    const seen: number[] = [];
    const reading = (async () => {
      for await (const { seq } of reader.subscribe('run_a')) seen.push(seq);
    })();
    await writer.open('run_a', 1);
    await writer.publish(1, [event('run_a', 0), event('run_a', 1)]);
    await redis.kill();
    const written = writer.publish(1, [event('run_a', 2)]);
    await redis.start();
    await written;
    await writer.publish(1, [event('run_a', 3, true)]);
    await reading;
    expect(seen).toEqual([0, 1, 2, 3]);
  });

  it('after its data is deleted, a writer gets the gap as an error, a group receives again, and numbers do not return', async () => {
    const redis = await OwnRedis.start();
    const log = await opened(redis.url());
    const options = { group: 'persistence', consumer: 'c', leaseMs: 60_000 };
    await log.open('run_a', 1);
    await log.publish(1, [event('run_a', 0)]);
    const before = (await log.receive(options))!;
    redis.command('flushall');
    await expect(log.publish(1, [event('run_a', 0)])).rejects.toThrow(/does not know the run run_a/u);
    await log.open('run_a', 1);
    await expect(log.publish(1, [event('run_a', 1)])).rejects.toThrow(/leaves a gap: 0 is expected next/u);
    await log.publish(1, [event('run_a', 0), event('run_a', 1)]);
    const after = (await log.receive(options))!;
    expect(after.events.map(({ seq }) => seq)).toEqual([0, 1]);
    expect(after.token).toBeGreaterThan(before.token);
    expect(await log.acknowledge(before)).toBe(false);
  });

  it('a full server rejects publications whole, in one sentence, and still acknowledges and deletes', async () => {
    const redis = await OwnRedis.start('--maxmemory', '6mb', '--maxmemory-policy', 'noeviction');
    const log = await opened(redis.url());
    const large = (seq: number): StreamEvent => ({
      ...event('run_a', seq),
      payload: { type: 'item_delta', item_id: 'i', delta: 'x'.repeat(500_000) },
    });
    let stored = 0;
    await log.open('run_a', 1);
    const fill = async () => {
      for (;;) {
        await log.publish(1, [large(stored)]);
        stored += 1;
      }
    };
    await expect(fill()).rejects.toThrow(
      /^Redis at 127\.0\.0\.1:\d+ accepts no more events: its memory is full\. Raise/u,
    );
    expect(stored).toBeGreaterThan(0);
    expect((await log.list()).runs).toEqual([{ runId: 'run_a', nextSeq: stored, isEnded: false }]);
    const delivery = (await log.receive({ group: 'persistence', consumer: 'c', leaseMs: 1_000 }))!;
    expect(await log.acknowledge(delivery)).toBe(true);
    await log.delete('run_a');
    await log.open('run_b', 1);
    await log.publish(1, [event('run_b', 0)]);
  });

  it('settings that endanger events are warnings', async () => {
    const redis = await OwnRedis.start('--maxmemory', '4mb', '--maxmemory-policy', 'allkeys-lru');
    const log = await opened(redis.url());
    await log.open('run_a', 1);
    for (let seq = 0; seq < 6; seq++)
      await log.publish(1, [
        { ...event('run_a', seq), payload: { type: 'item_delta', item_id: 'i', delta: 'x'.repeat(300_000) } },
      ]);
    expect(await log.warnings()).toEqual([
      expect.stringContaining('Set "appendonly yes"'),
      expect.stringContaining('("allkeys-lru"). Set "maxmemory-policy noeviction".'),
      expect.stringMatching(/^Redis uses \d+ % of its memory/u),
    ]);
    const safe = await OwnRedis.start(...WITH_FILE);
    expect(await (await opened(safe.url())).warnings()).toEqual([]);
  });

  it('each wrong URL is one sentence, without the password', async () => {
    const redis = await OwnRedis.start('--requirepass', 'right-secret');
    const faults = {
      password: await faultOf(redis.url(':wrong-secret@')),
      none: await faultOf(redis.url()),
      user: await faultOf(redis.url('nobody:right-secret@')),
      port: await faultOf(`redis://:right-secret@127.0.0.1:${await freePort()}`),
      database: await faultOf(`${redis.url(':right-secret@')}/99`),
      malformed: await faultOf(`redis://:right-secret@127.0.0.1:${redis.port}/name?x=1`),
    };
    expect(faults).toEqual({
      password: expect.stringMatching(/refused the user or the password\. Correct them in the URL\.$/u),
      none: expect.stringMatching(/refused the user or the password/u),
      user: expect.stringMatching(/refused the user or the password/u),
      port: expect.stringMatching(/^No Redis server answers at 127\.0\.0\.1:\d+\. Start the server/u),
      database: expect.stringMatching(/has no database with the number in the URL/u),
      malformed: expect.stringMatching(/^The URL of Redis is malformed/u),
    });
    expect(JSON.stringify(faults)).not.toMatch(/secret/u);
    await opened(redis.url(':right-secret@'));
  });

  it('a user without a right is refused at the start, and a right that is taken away later loses nothing', async () => {
    const redis = await OwnRedis.start();
    const user = (name: string, ...rights: string[]) => {
      expect(redis.command('acl', 'setuser', name, 'reset', 'on', '>guest-secret', ...rights)).toBe('OK');
      return redis.url(`${name}:guest-secret@`);
    };
    const refusal =
      /^Redis at 127\.0\.0\.1:\d+ denies the user a permission \((.*)\)\. Grant the permission: ACL SETUSER … \+@all ~\{toolscript\}\*$/u;
    expect(refusal.exec(await faultOf(user('reader', '~*', '+@all', '-xadd', '-zadd')))?.[1]).toBe('XADD, ZADD');
    expect(await faultOf(user('elsewhere', '~{other}:*', '+@all'))).toMatch(refusal);
    expect(await faultOf(user('scriptless', '~*', '+@all', '-eval'))).toMatch(refusal);
    const log = await opened(user('writer', '~{toolscript}*', '+@all', '-@dangerous', '+info'));
    await log.open('run_a', 1);
    await log.publish(1, [event('run_a', 0)]);
    redis.command('acl', 'setuser', 'writer', '-xadd');
    await expect(log.publish(1, [event('run_a', 1)])).rejects.toThrow(refusal);
    redis.command('acl', 'setuser', 'writer', '+xadd');
    await log.publish(1, [event('run_a', 1)]);
    expect((await log.read('run_a')).events.map(({ seq }) => seq)).toEqual([0, 1]);
    expect(redis.command('keys', '*probe*')).toBe('');
  });

  it('the start tries each command that a later call may need', () => {
    const { probe, ...scripts } = REDIS_SCRIPTS;
    const used = Object.values(scripts).flatMap((text) =>
      [...text.matchAll(/redis\.call\('(\w+)'/gu)].map(([, name]) => name),
    );
    const tried = [...probe.matchAll(/\btry\('(\w+)'/gu)].map(([, name]) => name);
    expect(tried).toEqual(expect.arrayContaining([...new Set(used)]));
    expect(used.length).toBeGreaterThan(20);
  });

  it('a server that is not Redis is named as such', async () => {
    const server = createServer((socket) => socket.on('error', () => {}).end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    expect(await faultOf(`redis://127.0.0.1:${port}`)).toMatch(
      /^The server at 127\.0\.0\.1:\d+ does not answer as Redis does/u,
    );
  });

  it('a hundred subscriptions cost one waiting connection, and one read for each event', async () => {
    const redis = await OwnRedis.start();
    const [writer, reader] = [await opened(redis.url()), await opened(redis.url())];
    await writer.open('run_a', 1);
    await writer.publish(1, [event('run_a', 0)]);
    const counts = Array.from({ length: 100 }, () => 0);
    const all = counts.map(async (_, index) => {
      for await (const _event of reader.subscribe('run_a')) counts[index]! += 1;
    });
    while (counts.some((count) => count < 1)) await new Promise(setImmediate);
    const connections = redis
      .command('client', 'list')
      .split('\n')
      .filter((line) => line.includes('name=toolscript'));
    expect(connections).toHaveLength(4);
    redis.command('config', 'resetstat');
    for (let seq = 1; seq <= 10; seq++) {
      await writer.publish(1, [event('run_a', seq, seq === 10)]);
      while (counts.some((count) => count < seq + 1)) await new Promise(setImmediate);
    }
    await Promise.all(all);
    const calls = Number(/cmdstat_evalsha:calls=(\d+)/u.exec(redis.command('info', 'commandstats'))?.[1]);
    // Ten publications, and a read for each of them; a second one if it began before its announcement.
    expect(calls).toBeGreaterThanOrEqual(20);
    expect(calls).toBeLessThanOrEqual(40);
  });

  it('an open log whose calls are answered does not keep its process alive', async () => {
    const redis = await OwnRedis.start();
    const child = fork(USER_OF_LOG, [redis.url()]);
    onTestFinished(() => void child.kill('SIGKILL'));
    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  it('in a cluster, all keys of a log are in one slot', async () => {
    const redis = await OwnRedis.start('--cluster-enabled', 'yes');
    expect(redis.command('cluster', 'addslotsrange', '0', '16383')).toBe('OK');
    while (!redis.command('cluster', 'info').includes('cluster_state:ok')) await new Promise(setImmediate);
    const log = await opened(redis.url());
    for (const run of ['run_a', 'run_b']) await log.open(run, 1);
    await log.publish(1, [event('run_a', 0), event('run_a', 1, true)]);
    await log.publish(1, [event('run_b', 0)]);
    const delivery = (await log.receive({ group: 'persistence', consumer: 'c', leaseMs: 1_000 }))!;
    await log.reject(delivery, 'again');
    const keys = redis.command('keys', '*').split('\n');
    expect(keys.length).toBeGreaterThan(8);
    expect(new Set(keys.map((key) => redis.command('cluster', 'keyslot', key))).size).toBe(1);
  });
});
