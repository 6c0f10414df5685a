import { setTimeout as delay } from 'node:timers/promises';
import type { StreamEvent } from '@toolscript/core/protocol';
import { PERSISTENCE_GROUP } from '@toolscript/service';
import { openEventLog } from '@toolscript/service/stores';
import { afterAll, describe, expect, it } from 'vitest';
import { describeWithRedis, newRedisUrl } from '../../../service/test/stores/redis/support/test-redis.js';
import { Place } from '../support/place.js';
import { serve, type Served } from './support/served.js';

const servers: Served[] = [];

afterAll(async () => {
  for (const server of servers) await server.end();
});

async function pendingApproval(server: Served): Promise<{ approvalId: string }> {
  for (;;) {
    const { data } = await server.api('approvals');
    if (data.length > 0) return data[0];
    await delay(50);
  }
}

/** A run whose events were given up. */
async function giveUp(url: string, runId: string): Promise<void> {
  const log = await openEventLog(url);
  const event: StreamEvent = {
    event_id: 'evt_0',
    run_id: runId,
    thread_id: 'thr_a',
    turn_id: 'turn_a',
    seq: 0,
    timestamp: 0,
    payload: { type: 'response_start' },
  };
  await log.open(event.run_id, 1);
  await log.publish(1, [event]);
  for (let attempt = 0; attempt < 5; attempt++)
    await log.reject((await log.receive({ group: PERSISTENCE_GROUP, consumer: 'c', leaseMs: 1_000 }))!, 'no \u001b[2J');
  await log.close();
}

describe('toolscript serve --role', () => {
  describeWithRedis('with --events redis://…', () => {
    it('three processes work on a run, and only the API answers requests', async () => {
      const [place, events] = [new Place(), newRedisUrl()];
      const start = (role: string) => serve(['--role', role, '--events', events], { env: place.env });
      const [api, worker, persistence] = await Promise.all([start('api'), start('worker'), start('persistence')]);
      servers.push(api, worker, persistence);
      const { runId, threadId } = await api.api('submit', { prompt: 'approve' });
      const { approvalId } = await pendingApproval(api);
      expect(await api.api(`approvals/${approvalId}`, 'approve')).toMatchObject({ state: 'approved' });
      expect(await api.follow(runId)).toContain('"status":"completed"');
      expect((await api.api(`threads/${threadId}`)).runs).toMatchObject([{ runId, status: 'completed' }]);
      for (const { url, printed } of [worker, persistence]) {
        expect((await fetch(`${url}/readyz`)).status).toBe(200);
        expect((await fetch(`${url}/api/v2/threads`)).status).toBe(404);
        expect(printed()).toContain('Only /healthz, /readyz and /metrics answer.');
      }
    });

    it('dead letters are listed, retried and dropped', async () => {
      const [place, events] = [new Place(), newRedisUrl()];
      const admin = (...words: string[]) => place.run(['admin', 'dead-letter', ...words, '--events', events]);
      expect(await admin('list')).toMatchObject({ status: 0, stdout: 'There are no dead letters.\n' });
      for (const runId of ['run_a', 'run_b']) await giveUp(events, runId);
      const listed = await admin('list');
      expect(listed.stdout).toMatch(/^run_a  from event 0: no .*\nrun_b  from event 0: no .*\n$/u);
      expect(listed.stdout).not.toContain('\u001b[2J');
      expect(JSON.parse((await admin('list', '--json')).stdout)).toMatchObject([
        { runId: 'run_a' },
        { runId: 'run_b' },
      ]);
      const wrong = await admin('retry', 'run_a', 'run_c');
      expect([wrong.status, wrong.stderr]).toEqual([
        2,
        expect.stringMatching(/run_c is not a dead letter\. To list the dead letters/u),
      ]);
      expect((await admin('retry', 'run_a')).stdout).toBe('run_a is delivered again.\n');
      expect((await admin('drop', 'run_b')).stdout).toBe('run_b is dropped.\n');
      expect((await admin('list')).stdout).toBe('There are no dead letters.\n');
      const log = await openEventLog(events);
      expect((await log.list()).runs.map(({ runId }) => runId)).toEqual(['run_a']);
      await log.close();
    });
  });

  it('a wrong role, and a log that cannot be used, end the command with one sentence without the password', async () => {
    const place = new Place();
    const of = (...words: string[]) => place.run(['serve', '--port', '0', ...words]);
    for (const [words, sentence] of [
      [
        ['--role', 'api,king'],
        /^toolscript: --role: there is no role king\. The roles are api, worker, persistence\.$/u,
      ],
      [
        ['--events', 'redis://:secret@127.0.0.1:1'],
        /^toolscript: No Redis server answers at 127\.0\.0\.1:1\. Start the server/u,
      ],
      [['--events', 'redis://:secret@127.0.0.1:1/x'], /^toolscript: --events: The URL of Redis is malformed\./u],
      [
        ['--events', 'http://:secret@127.0.0.1/'],
        /^toolscript: --events: A log of events cannot be opened at "http:…"\. Supported are "redis:/u,
      ],
    ] as const) {
      const { status, stderr } = await of(...words);
      expect([status, stderr.trim()]).toEqual([2, expect.stringMatching(sentence)]);
      expect(stderr).not.toContain('secret');
    }
  });
});
