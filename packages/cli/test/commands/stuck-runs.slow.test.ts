import { openStores } from '@toolscript/service/stores';
import { expect, it } from 'vitest';
import { Place } from '../support/place.js';

it('toolscript admin run lists parked runs with the reason, and resumes all that are named, or none', async () => {
  const place = new Place();
  const store = `libsql:${place.base}/service.db`;
  const admin = (...words: string[]) => place.run(['admin', 'run', ...words, '--store', store]);
  expect(await admin('list')).toMatchObject({ status: 0, stdout: 'No run is stuck.\n' });
  const stores = await openStores(store);
  const input = [{ type: 'message' as const, id: 'item_in', role: 'user' as const, content: 'hello' }];
  const claim = { owner: 'w', leaseMs: 60_000 };
  const { run } = await stores.runs.create({ principal: 'ada', thread: { create: {} }, input, claim });
  const { runId, threadId } = run;
  await stores.runs.park({ runId, epoch: 1 }, 'Workers \u001b[2J ended.');
  expect((await admin('list')).stdout).toMatch(new RegExp(`^${runId} {2}of ada: Workers \\S*\\[2J ended\\.\n$`, 'u'));
  expect(JSON.parse((await admin('list', '--json')).stdout)).toMatchObject([{ runId, threadId, principal: 'ada' }]);
  expect(await admin('resume', runId, 'run_other')).toMatchObject({
    status: 2,
    stderr: expect.stringContaining(
      'run_other is not a parked run. To list the stuck runs and their reasons: toolscript admin run list',
    ),
  });
  expect((await stores.runs.get(runId))?.state).toBe('suspended');
  expect((await admin('resume', runId)).stdout).toBe(`${runId} is queued again.\n`);
  expect((await stores.runs.get(runId))?.state).toBe('queued');
  // No server runs on this store.
  const { runs } = JSON.parse(`{"runs":${(await admin('list', '--json')).stdout}}`);
  expect(runs).toMatchObject([{ runId, reason: expect.stringMatching(/^No worker is running\./u) }]);
  await stores.close();
});
