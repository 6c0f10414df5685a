import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '@toolscript/testkit/until';
import { describe, expect, it } from 'vitest';
import { hasTmux, Tmux } from '../support/tmux.js';
import { script, text } from './scene.js';

/** A script that writes a file once, and then waits for the file `go`. */
const WAITS = `
await tools.writeFile({ path: 'made.txt', content: 'made' });
console.log('begun');
for (;;) {
  const { entries } = await tools.listDir({});
  if (entries.some(({ path }) => path === 'go')) return 'gone';
  await sleep(100);
}`;

/** A terminal whose turn waits for the file `go`; the next process of the program gets another answer. */
async function working(code = WAITS): Promise<Tmux> {
  const tmux = new Tmux();
  tmux.start([script(code, 'I work.')], '--exec-sandbox', 'off');
  await tmux.see('Type a prompt');
  await tmux.send('/mode auto');
  await tmux.see('auto ›');
  await tmux.send('do it');
  return tmux;
}

function go({ scene }: Tmux): void {
  writeFileSync(join(scene.workspace, 'go'), '');
}

async function onlyRun({ scene }: Tmux): Promise<{ runId: string; state: string }> {
  return JSON.parse((await scene.run(['runs', '--all', '--json'])).stdout)[0];
}

async function untilCompleted(tmux: Tmux): Promise<string> {
  const { runId } = await until(async () => {
    const run = await onlyRun(tmux);
    return run.state === 'completed' && run;
  });
  const events = (await tmux.scene.run(['runs', 'attach', runId, '--json'])).stdout.trim().split('\n');
  expect(events.map((event) => (JSON.parse(event) as { seq: number }).seq)).toEqual(events.map((_, index) => index));
  return (await tmux.scene.run(['runs', 'attach', runId])).stdout;
}

describe.skipIf(!hasTmux)('/bg while a turn works', () => {
  it('moves the turn to another process with all that it did, and begins a new conversation', async () => {
    const tmux = await working();
    await tmux.see('[script] begun');
    tmux.scene.model({ parts: [{ type: 'text', text: 'All is done.' }], expect: ['gone'] });
    tmux.type('/bg');
    tmux.keys('Enter');
    await tmux.see(/runs attach run_[\s\S]*\nauto › ?$/u);
    expect(await onlyRun(tmux)).toMatchObject({ state: 'running' });
    await tmux.send('/status');
    await tmux.see('not stored before the first prompt');
    go(tmux);
    const attached = await untilCompleted(tmux);
    for (const shown of ['I work.', 'begun', 'writeFile', 'All is done.']) expect(attached).toContain(shown);
    expect(attached.split('✓ writeFile')).toHaveLength(2);
  });

  it('lets a command end first', async () => {
    const tmux = await working(
      `return (await tools.exec({ command: ['sh', '-c', 'echo one >> log; while [ ! -e go ]; do sleep 0.1; done; echo two >> log'] })).exitCode`,
    );
    const log = join(tmux.scene.workspace, 'log');
    await until(() => existsSync(log));
    tmux.scene.model(text('All is done.'));
    tmux.type('/bg');
    tmux.keys('Enter');
    await tmux.see('waits for the calls that work now');
    go(tmux);
    await tmux.see('runs attach run_');
    expect(await untilCompleted(tmux)).toContain('All is done.');
    expect(readFileSync(log, 'utf8')).toBe('one\ntwo\n');
  });

  it.each(['moves to the background', 'runs attach run_'])(
    'loses nothing if the terminal is killed when it shows “%s”',
    async (moment) => {
      const tmux = await working();
      await tmux.see('[script] begun');
      tmux.scene.model(text('All is done.'));
      tmux.type('/bg');
      tmux.keys('Enter');
      await tmux.see(moment);
      await tmux.kill();
      appendFileSync(join(tmux.scene.workspace, 'made.txt'), ' and kept');
      go(tmux);
      const attached = await untilCompleted(tmux);
      for (const shown of ['I work.', 'begun', 'All is done.']) expect(attached).toContain(shown);
      expect(readFileSync(join(tmux.scene.workspace, 'made.txt'), 'utf8')).toBe('made and kept');
    },
  );
});
