import { connect } from 'node:net';
import { userMessage } from '@toolscript/core/agent';
import { EventEnvelopes } from '@toolscript/core/ports';
import { expect, it, onTestFinished } from 'vitest';
import { openTestServer, TOKEN } from '../support/test-server.js';
import { until } from '@toolscript/testkit/until';

it('counts the clients that were dropped because they did not read', async () => {
  const server = await openTestServer({ limits: { stallTimeoutMs: 200 }, workers: 0 });
  onTestFinished(() => server.close());
  const { runs, threads } = server.stores;
  const { run } = await runs.create({
    principal: 'local',
    thread: { create: { title: 'long' } },
    input: [userMessage('hello')],
    claim: { owner: 'test', leaseMs: 60_000 },
  });
  const envelopes = new EventEnvelopes(run);
  // More than the buffers of the system hold.
  const log = { type: 'script_log', script_id: 'scr_1', level: 'log', text: 'x'.repeat(200_000), at_ms: 0 } as const;
  const events = [
    envelopes.next({ type: 'response_start' }),
    ...Array.from({ length: 100 }, () => envelopes.next(log)),
  ];
  await threads.append(events, { epoch: run.epoch });
  await runs.finish({ runId: run.runId, epoch: run.epoch }, { state: 'completed' });

  const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
  socket.pause();
  socket.write(`GET /api/v2/stream/${run.runId} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`);
  const line = await until(async () => {
    const response = await fetch(`${server.url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } });
    return /^toolscript_stream_clients_dropped_total [1-9].*$/mu.exec(await response.text())?.[0];
  });
  expect(line).toBe('toolscript_stream_clients_dropped_total 1');
});
