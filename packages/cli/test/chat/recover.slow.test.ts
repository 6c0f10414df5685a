import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StreamEventSchema, type StreamEvent } from '@toolscript/core/protocol';
import { describe, expect, it } from 'vitest';
import { scriptIdIn } from '../support/place.js';
import { PROGRAM, said, start } from '../support/program.js';
import { Scene, script, text } from './scene.js';

/** Writes a file, and waits until there is another one. */
const WAITS = `await tools.listDir({ path: '.' });
await tools.writeFile({ path: 'a.txt', content: 'a' });
console.log('written');
for (;;) {
  const { entries } = await tools.listDir({ path: '.' });
  if (entries.some(({ path }) => path === 'go')) return 'gone on';
  await sleep(100);
}`;

async function killedIn(source: string, mark: string, ...flags: string[]): Promise<{ scene: Scene; threadId: string }> {
  const scene = new Scene();
  const args = [PROGRAM, 'Begin', ...scene.model(script(source)), '--json', '--approve', 'auto', ...flags];
  const child = start(process.execPath, args, { env: scene.env, cwd: scene.workspace });
  await said(child, mark);
  child.kill('SIGKILL');
  await new Promise((resolve) => child.once('close', resolve));
  writeFileSync(join(scene.workspace, 'go'), '');
  const [{ threadId }] = JSON.parse((await scene.run(['threads', '--json'])).stdout) as [{ threadId: string }];
  return { scene, threadId };
}

async function eventsOf(scene: Scene, threadId: string): Promise<StreamEvent[]> {
  const { stdout } = await scene.run(['threads', 'export', threadId, '--format', 'jsonl']);
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => StreamEventSchema.parse(JSON.parse(line)));
}

function itemsDone(events: readonly StreamEvent[], type: string) {
  return events.flatMap(({ payload }) =>
    payload.type === 'item_done' && payload.final_item.type === type ? [payload.final_item] : [],
  );
}

const count = (shown: string, part: RegExp) => [...shown.matchAll(part)].length;

const ends = (...expected: string[]) => ({ parts: [{ type: 'text' as const, text: 'All done.' }], expect: expected });

describe('a conversation whose process was killed while a script ran', () => {
  it('continues the same run: one script with one result, which the model reads', async () => {
    const { scene, threadId } = await killedIn(WAITS, '"text":"written');
    const scriptId = scriptIdIn((await scene.run(['approvals'])).stdout);
    const { status, stdout, stderr } = await scene.run([
      'resume',
      scriptId,
      '--then',
      'auto',
      ...scene.model(ends('gone on')),
    ]);
    expect({ status, stderr }, stdout).toEqual({ status: 0, stderr: '' });
    expect([count(stdout, /▶/gu), count(stdout, /✔ completed/gu)], stdout).toEqual([1, 1]);
    expect(stdout).toMatch(/▶[\s\S]*listDir[\s\S]*writeFile[\s\S]*listDir[\s\S]*All done\./u);
    expect(count(stdout, /writeFile a/gu)).toBe(1);
    const events = await eventsOf(scene, threadId);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index));
    expect(new Set(events.map(({ run_id: id }) => id)).size).toBe(1);
    expect(itemsDone(events, 'script_execution')).toHaveLength(1);
    expect(itemsDone(events, 'script_execution_output')).toMatchObject([{ status: 'completed', result: 'gone on' }]);
    expect(events.at(-1)!.payload).toMatchObject({ type: 'response_done', status: 'completed' });
  });

  it('reports to the model after another prompt, in a separate run, under the same item', async () => {
    const { scene, threadId } = await killedIn(WAITS, '"text":"written');
    const closed = { ...text('I look.'), expect: ['ended while this script ran', 'What now?'] };
    expect(await scene.chat('What now?', [closed], ['--continue'])).toMatchObject({ status: 0, stderr: '' });
    const scriptId = scriptIdIn((await scene.run(['approvals'])).stdout);
    const resumed = await scene.run(['resume', scriptId, '--then', 'auto', ...scene.model(ends('gone on'))]);
    expect(resumed, resumed.stdout).toMatchObject({ status: 0, stderr: '' });
    const events = await eventsOf(scene, threadId);
    const [item, another] = itemsDone(events, 'script_execution');
    expect(another).toBeUndefined();
    expect(itemsDone(events, 'script_execution_output')).toMatchObject([
      { call_id: item!.call_id, stands_in: true },
      { call_id: item!.call_id, status: 'completed' },
    ]);
    expect(new Set(events.map(({ run_id: id }) => id)).size).toBe(3);
    const next = await scene.chat('And?', [ends('What now?', 'gone on', 'And?')], ['--continue']);
    expect(next).toMatchObject({ status: 0, stderr: '' });
  });
});
