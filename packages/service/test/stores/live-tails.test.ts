import { join } from 'node:path';
import type { EventLog, StreamEvent } from '@toolscript/core/protocol';
import { EventEnvelopes } from '@toolscript/core/ports';
import { openEventLog } from '@toolscript/service/stores';
import { expect, it } from 'vitest';
import { newFolder } from '@toolscript/testkit/folder';

const RUN = { runId: 'run_1', threadId: 'thr_1', turnId: 'turn_1' };

function eventsOf(count: number): StreamEvent[] {
  const envelopes = new EventEnvelopes(RUN);
  const deltas = Array.from({ length: count - 1 }, (_, index) =>
    envelopes.next({ type: 'item_delta', item_id: 'item_1', delta: `${index} ${'x'.repeat(index % 900)}` }),
  );
  return [...deltas, envelopes.next({ type: 'response_done', status: 'completed' })];
}

async function follow(log: EventLog, from = 0): Promise<StreamEvent[]> {
  const found: StreamEvent[] = [];
  for await (const event of log.subscribe(RUN.runId, { from })) found.push(event);
  return found;
}

it('subscribers get every event, whichever process publishes, and wherever they start', async () => {
  const url = `libsql:${join(newFolder(), 'log.db')}`;
  const [log, other] = [await openEventLog(url), await openEventLog(url)];
  const events = eventsOf(2000);
  await log.open(RUN.runId, 1);
  const following = [follow(log), follow(log, 700), follow(other)];
  for (let index = 0; index < 1000; index += 50) await log.publish(1, events.slice(index, index + 50));
  const late = follow(log, 3);
  // Another process claims the run, and releases it.
  await other.open(RUN.runId, 2);
  for (let index = 1000; index < 1500; index += 50) await other.publish(2, events.slice(index, index + 50));
  await log.open(RUN.runId, 3);
  await log.publish(3, events.slice(1400, 1500));
  for (let index = 1500; index < 2000; index += 50) await log.publish(3, events.slice(index, index + 50));
  const starts = [0, 700, 0, 3];
  for (const [index, found] of (await Promise.all([...following, late])).entries())
    expect(found).toEqual(events.slice(starts[index]));
  await Promise.all([log.close(), other.close()]);
});
