import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newFolder } from '@toolscript/testkit/folder';
import { until } from '@toolscript/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';
import { Scene, script, text } from '../chat/scene.js';

/** Waits for the file `go`. */
const WAITS = `for (;;) {
  const { entries } = await tools.listDir({});
  if (entries.some(({ path }) => path === 'go')) return 'gone';
  await sleep(100);
}`;

const scenes: Scene[] = [];

function newScene(): Scene {
  const scene = new Scene();
  scenes.push(scene);
  return scene;
}

/** Ends what a failed test has left in the background. */
afterEach(async () => {
  for (const scene of scenes.splice(0)) {
    const runs = await listed(scene);
    for (const { runId } of runs) await scene.run(['runs', 'stop', runId]);
  }
});

async function listed(scene: Scene, ...more: string[]): Promise<{ runId: string; state: string; title: string }[]> {
  return JSON.parse((await scene.run(['runs', ...more, '--json'])).stdout);
}

async function inBackground(scene: Scene, ...turns: Parameters<Scene['model']>): Promise<string> {
  const started = await scene.toolscript(['Do it.', ...scene.model(...turns), '--background']);
  expect(started.status, started.stderr).toBe(0);
  const id = started.stdout.trim();
  expect(id).toMatch(/^run_\w+$/u);
  return id;
}

describe('a run in the background', () => {
  it('continues after its command, is listed, and is shown to its end by attach', async () => {
    const scene = newScene();
    const runId = await inBackground(scene, script(WAITS, 'I work.'), text('All is done.'));
    expect(await listed(scene)).toMatchObject([{ runId, state: 'running', title: 'Do it.' }]);
    writeFileSync(join(scene.workspace, 'go'), '');
    const attached = await scene.toolscript(['runs', 'attach', runId.slice(0, 12)]);
    expect(attached.stdout).toContain('I work.');
    expect(attached.stdout).toContain('All is done.');
    expect(attached.status).toBe(0);
    expect(await listed(scene, '--all')).toMatchObject([{ runId, state: 'completed' }]);
  });

  it('stops', async () => {
    const scene = newScene();
    const runId = await inBackground(scene, script('await sleep(100_000);'));
    expect((await scene.run(['runs', 'stop', runId])).status).toBe(0);
    const attached = await scene.toolscript(['runs', 'attach', runId]);
    expect(attached.status).toBe(1);
    expect(await listed(scene, '--all')).toMatchObject([{ runId, state: 'cancelled' }]);
  });

  it('that waits for a decision is stopped at once, and its approval with it', async () => {
    const scene = newScene();
    const runId = await inBackground(scene, script("await tools.writeFile({ path: 'a', content: 'b' })"));
    expect((await scene.toolscript(['runs', 'attach', runId])).status).toBe(3);
    const { stdout } = await scene.run(['runs', 'stop', runId]);
    expect(stdout).toBe(`${runId} has ended.\n`);
    expect(await listed(scene, '--all')).toMatchObject([{ runId, state: 'cancelled' }]);
  });

  it('that waits for a decision shows a notification of the desktop', async () => {
    const scene = newScene();
    const bin = newFolder();
    const shown = join(bin, 'shown');
    const program = process.platform === 'darwin' ? 'osascript' : 'notify-send';
    writeFileSync(join(bin, program), `#!/bin/sh\necho "$@" > ${shown}.new; mv ${shown}.new ${shown}\n`, {
      mode: 0o755,
    });
    const model = scene.model(script("await tools.writeFile({ path: 'a', content: 'b' })"));
    const started = await scene.toolscript(['Do it.', ...model, '--background', '--notify', 'desktop'], {
      env: { PATH: `${bin}:${process.env['PATH']}` },
    });
    expect(started.status, started.stderr).toBe(0);
    const notice = await until(() => existsSync(shown) && readFileSync(shown, 'utf8'));
    expect(notice).toMatch(/A run waits for your decision: .*resume scr_/u);
  });

  it('that cannot begin reports its mistake', async () => {
    const scene = newScene();
    const { status, stderr } = await scene.toolscript(['Do it.', '--model', 'scripted:missing.json', '--background']);
    expect(status).toBe(2);
    expect(stderr).toContain('There is no scenario');
  });
});
