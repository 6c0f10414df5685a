import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { EventLog, Run, ServiceStores, StreamEvent } from '@toolscript/core/protocol';
import { StoreUnavailableError } from '@toolscript/core/ports';
import { expect, it, onTestFinished } from 'vitest';
import { openEventLog, openStores } from '#service/stores/index.js';
import { describeWithOwnPostgres, OwnPostgres } from './postgres/support/own-postgres.js';
import { describeWithOwnRedis, OwnRedis } from './redis/support/test-redis.js';
import { describeWithSmallDisk, SmallDisk } from './support/small-disk.js';

const INPUT = [{ type: 'message' as const, id: 'item_1', role: 'user' as const, content: 'hello' }];
const DRAFT = { principal: 'ada', thread: { create: {} }, input: INPUT };

const eventOf = (
  { runId, threadId, turnId }: Pick<Run, 'runId' | 'threadId' | 'turnId'>,
  seq: number,
): StreamEvent => ({
  event_id: `evt_${seq}`,
  run_id: runId,
  thread_id: threadId,
  turn_id: turnId,
  seq,
  timestamp: 175e10 + seq,
  payload: { type: 'item_delta', item_id: 'item_1', delta: `${seq} `.repeat(20_000) },
});

/** Repeats the write until it is refused. Returns the number of those that succeeded, and the refusal. */
async function untilRefused(
  write: (seq: number) => Promise<unknown>,
  first = 0,
): Promise<{ count: number; error: Error }> {
  for (let count = first; ; count += 1) {
    try {
      await write(count);
    } catch (error) {
      expect(error).toBeInstanceOf(StoreUnavailableError);
      return { count, error: error as Error };
    }
  }
}

/**
 * A disk that is full refuses an event in one sentence; the earlier events are stored, and the next one is stored once
 * the disk has room.
 */
async function expectWhole(stores: ServiceStores, disk: SmallDisk, sentence: RegExp): Promise<void> {
  const { run } = await stores.runs.create(DRAFT);
  await stores.threads.append([eventOf(run, 0)]);
  disk.fill();
  const { count, error } = await untilRefused((seq) => stores.threads.append([eventOf(run, seq)]), 1);
  expect(error.message).toMatch(sentence);
  await expect(stores.threads.append([eventOf(run, count)])).rejects.toThrow(sentence);
  const seqs = async () => (await stores.threads.readEvents(run.runId)).events.map(({ seq }) => seq);
  const expected = Array.from({ length: count }, (_, seq) => seq);
  expect(await seqs()).toEqual(expected);
  disk.free();
  await stores.threads.append([eventOf(run, count)]);
  expect(await seqs()).toEqual([...expected, count]);
}

describeWithSmallDisk('a full disk', () => {
  it('of a file refuses writes in one sentence, and loses nothing', async () => {
    const disk = new SmallDisk(8);
    const stores = await openStores(`libsql:${join(disk.folder, 'toolscript.db')}`);
    onTestFinished(() => stores.close());
    await expectWhole(
      stores,
      disk,
      /^\S+toolscript\.db cannot grow: the disk is full\. Free disk space and try again\.$/u,
    );
  });

  describeWithOwnPostgres('of PostgreSQL', () =>
    it('refuses writes in one sentence, and loses nothing', async () => {
      const disk = new SmallDisk(24);
      const postgres = await OwnPostgres.start();
      await postgres.query(`CREATE TABLESPACE small LOCATION '${OwnPostgres.folderIn(disk.folder, 'small')}'`);
      await postgres.query('ALTER DATABASE postgres SET default_tablespace = small');
      const stores = await openStores(postgres.url);
      onTestFinished(() => stores.close());
      await expectWhole(stores, disk, /^PostgreSQL at \S+ cannot grow: its disk is full\. Free disk space/u);
    }),
  );

  describeWithOwnRedis('of Redis', () =>
    it('refuses events in one sentence, and loses nothing', async () => {
      const disk = new SmallDisk(8);
      const folder = join(disk.folder, 'redis');
      mkdirSync(folder);
      const redis = await OwnRedis.start('--appendonly', 'yes', '--dir', folder);
      const log = await openEventLog(redis.url());
      onTestFinished(() => log.close());
      const run = { runId: 'run_a', threadId: 'thr_a', turnId: 'turn_a' };
      await log.open('run_a', 1);
      await log.publish(1, [eventOf(run, 0)]);
      disk.fill();
      const { count, error } = await untilRefused((seq) => log.publish(1, [eventOf(run, seq)]), 1);
      expect(error.message).toMatch(
        /^Redis at \S+ accepts no writes, because it cannot save to its disk\. Free disk space/u,
      );
      expect(await log.warnings()).toContain('Redis cannot write its append-only file. Free space on its disk.');
      expect(await seqsOf(log)).toEqual(Array.from({ length: count }, (_, seq) => seq));
      disk.free();
      while (redis.command('info', 'persistence').includes('aof_last_write_status:err')) await delay(50);
      await log.publish(1, [eventOf(run, count)]);
      await redis.kill();
      await redis.start();
      expect(await seqsOf(log)).toEqual(Array.from({ length: count + 1 }, (_, seq) => seq));
    }),
  );
});

async function seqsOf(log: EventLog): Promise<number[]> {
  const seqs: number[] = [];
  for (let from: number | undefined = 0; from !== undefined;) {
    const { events, next }: { events: readonly StreamEvent[]; next?: number | undefined } = await log.read('run_a', {
      from,
    });
    seqs.push(...events.map(({ seq }) => seq));
    from = next;
  }
  return seqs;
}
