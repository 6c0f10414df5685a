import type { StreamEvent } from '@toolscript/core/protocol';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { openEventLog, openStores } from '#service/stores/index.js';
import { describeWithPostgres, newSchemaUrl } from './postgres/support/test-postgres.js';
import { describeWithRedis, newRedisUrl } from './redis/support/test-redis.js';

const INPUT = [{ type: 'message' as const, id: 'item_1', role: 'user' as const, content: 'hello' }];
const DRAFT = { principal: 'ada', thread: { create: {} }, input: INPUT };
const LEASE_MS = 30_000;

const EVENT: StreamEvent = {
  event_id: 'evt_1',
  run_id: 'run_a',
  thread_id: 'thr_a',
  turn_id: 'turn_a',
  seq: 0,
  timestamp: 1,
  payload: { type: 'item_delta', item_id: 'item_1', delta: 'text' },
};

/** The clock of another machine, which is wrong. */
function setClock(aheadMs: number): void {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + aheadMs });
}

afterEach(() => void vi.useRealTimers());

describe.each([-60_000, 60_000, 86_400_000])('a process whose clock is %i ms wrong', (aheadMs) => {
  describeWithPostgres('over PostgreSQL', () =>
    it('claims no run that another one holds, and loses none', async () => {
      const url = await newSchemaUrl();
      const [right, wrong] = [await openStores(url), await openStores(url)];
      onTestFinished(() => Promise.all([right.close(), wrong.close()]).then(() => {}));
      const held = await right.runs.create(DRAFT);
      const fence = { runId: held.run.runId, epoch: 1 };
      expect(await right.runs.claim({ owner: 'right', leaseMs: LEASE_MS })).toMatchObject({ run: fence });
      setClock(aheadMs);
      expect(await wrong.runs.claim({ owner: 'wrong', leaseMs: LEASE_MS })).toBeUndefined();
      await wrong.runs.create(DRAFT);
      const claimed = await wrong.runs.claim({ owner: 'wrong', leaseMs: LEASE_MS });
      expect(claimed?.run.epoch).toBe(1);
      vi.useRealTimers();
      expect(await right.runs.claim({ owner: 'right', leaseMs: LEASE_MS })).toBeUndefined();
      expect(await right.runs.renew(fence, LEASE_MS)).toMatchObject({ isHeld: true });
    }),
  );

  describeWithRedis('over Redis', () =>
    it('receives no events that another one has received', async () => {
      const url = newRedisUrl();
      const [right, wrong] = [await openEventLog(url), await openEventLog(url)];
      onTestFinished(() => Promise.all([right.close(), wrong.close()]).then(() => {}));
      const options = { group: 'persistence', consumer: 'a test', leaseMs: LEASE_MS };
      await right.open(EVENT.run_id, 1);
      await right.publish(1, [EVENT]);
      expect((await right.receive(options))?.events).toHaveLength(1);
      setClock(aheadMs);
      expect(await wrong.receive(options)).toBeUndefined();
    }),
  );
});
