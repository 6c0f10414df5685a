import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StreamEvent } from '@toolscript/core/protocol';
import { allEvents, streamRun } from '@toolscript/service';
import { openDatabase } from '@toolscript/service/stores';
import { expect, it, onTestFinished } from 'vitest';
import { finished, PROGRAM, said, start } from '../support/program.js';
import { Scene, script, text } from './scene.js';

const WAITS = `console.log('begun');
for (;;) {
  const { entries } = await tools.listDir({ path: '.' });
  if (entries.some(({ path }) => path === 'go')) return 'gone on';
  await sleep(100);
}`;

it('a conversation at the terminal is streamed live to others on the same data folder, and leaves one log', async () => {
  const scene = new Scene();
  const args = [PROGRAM, 'Begin', ...scene.model(script(WAITS), text('All done.')), '--json'];
  const child = start(process.execPath, args, { env: scene.env, cwd: scene.workspace });
  const end = finished(child);
  await said(child, '"type":"script_log"');
  const { stores, log, close } = await openDatabase(`libsql:${scene.kept('toolscript.db')}`);
  onTestFinished(close);
  const [run] = (await stores.runs.list({ state: 'running' })).runs;
  const events: StreamEvent[] = [];
  const { signal } = new AbortController();
  for await (const event of streamRun(stores, log, run!.runId, { from: 0, signal })) {
    events.push(event);
    // The script ends only after a client has received a live event of its start.
    if (event.payload.type === 'script_log') writeFileSync(join(scene.workspace, 'go'), '');
  }
  expect(await end).toMatchObject({ status: 0, stderr: '' });
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index));
  expect(events.at(-1)!.payload).toMatchObject({ type: 'response_done', status: 'completed' });
  expect(events).toEqual(await allEvents(stores, run!.runId));
  const logged = async () => (await log.read(run!.runId)).events.length;
  expect(await logged()).toBe(events.length);
  expect((await scene.chat('And?', [text('That is all.')], ['--continue'])).status).toBe(0);
  expect(await logged()).toBe(0);
  const [, next] = (await stores.runs.list({ threadId: run!.threadId })).runs;
  expect((await log.read(next!.runId)).events.length).toBeGreaterThan(0);
  expect((await scene.run(['threads', 'delete', run!.threadId])).status).toBe(0);
  expect((await log.read(next!.runId)).events).toEqual([]);
});
