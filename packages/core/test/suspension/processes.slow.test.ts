import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { fileStore, listScripts } from '#core/index.js';
import type { Outcome } from '#core/protocol/index.js';
import { until } from '@toolscript/testkit/until';

const LIFE = fileURLToPath(new URL('life.mjs', import.meta.url));

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'toolscript-life-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

interface Life {
  /** Undefined if the process was killed before it printed anything. */
  outcome: Outcome | undefined;
  stderr: string;
}

function live(folder: string, action: string, options: object, kill?: (stop: () => void) => unknown): Promise<Life> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [LIFE, folder, action, JSON.stringify(options)]);
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    child.once('close', () => {
      const whole = stdout.endsWith('\n');
      resolve({ outcome: whole ? (JSON.parse(stdout) as Outcome) : undefined, stderr });
    });
    void kill?.(() => child.kill('SIGKILL'));
  });
}

function effectsIn(folder: string): string[] {
  const file = join(folder, 'effects');
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8').trim().split('\n');
}

const namesOf = (effects: string[]) => effects.map((line) => line.slice(line.indexOf(' ') + 1));

describe('a script that outlives its processes', () => {
  it('is killed with five open calls (two ask, one has taken effect, one is in a race), then resumed with one yes and one no', async () => {
    const folder = makeFolder();
    const source = `
      const results = await Promise.all([
        tools.note({ n: 1 }),
        tools.mark({ n: 2 }),
        tools.note({ n: 3 }).catch((error) => error.name),
        Promise.race([tools.read({ n: 4 }), tools.mark({ n: 5 })]),
        tools.read({ n: 6 }),
      ]);
      return results.map((result) => result.n ?? result);`;
    // The first process is killed immediately after its script is stored.
    let id = '';
    const store = fileStore(join(folder, 'store'));
    const first = await live(folder, 'run', { source }, async (stop) => {
      for (;;) {
        const [kept] = await listScripts(store);
        if (kept?.state === 'suspended') {
          id = kept.scriptId;
          return stop();
        }
        await delay(2);
      }
    });
    expect(first.stderr).toBe('');
    const { outcome, stderr } = await live(folder, 'resume', { id, decisions: ['approve', 'deny'] });
    expect(stderr).toBe('');
    expect(outcome).toMatchObject({ status: 'completed', value: [1, 2, 'ApprovalDeniedError', 4, 6] });
    expect(namesOf(effectsIn(folder)).toSorted()).toEqual(['mark {"n":2}', 'mark {"n":5}', 'note {"n":1}']);
  });

  it('is suspended at every third call, ten times, in ten processes, and repeats nothing', async () => {
    const folder = makeFolder();
    const source = `
      const seen = [];
      for (let round = 0; round < 10; round++) {
        await tools.read({ round });
        await tools.mark({ round });
        seen.push((await tools.note({ round })).round);
      }
      return seen;`;
    let life = await live(folder, 'run', { source });
    let resumes = 0;
    while (life.outcome?.status === 'suspended') {
      resumes += 1;
      life = await live(folder, 'resume', { id: life.outcome.scriptId, decisions: ['approve'] });
    }
    expect(resumes).toBe(10);
    expect(life.outcome).toMatchObject({ status: 'completed', value: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] });
    const effects = effectsIn(folder);
    expect(effects).toHaveLength(20);
    expect(new Set(effects).size).toBe(20);
  });

  it('is killed inside an effect: the call is unknown, its await rejects, and the script’s code decides', async () => {
    const folder = makeFolder();
    const source = `
      console.log('started');
      const first = await tools.mark({ n: 1 });
      let second;
      try { second = await tools.mark({ n: 2, hang: true }); } catch (error) { second = [error.name, error.data.status]; }
      return [first.n, second, (await tools.mark({ n: 3 })).n];`;
    await live(folder, 'run', { source }, async (stop) => {
      await until(() => effectsIn(folder).length === 2);
      stop();
    });
    const [kept] = await listScripts(fileStore(join(folder, 'store')));
    expect(kept?.state).toBe('interrupted');
    const { outcome, stderr } = await live(folder, 'recover', { id: kept!.scriptId });
    expect(stderr).toBe('');
    expect(outcome).toMatchObject({ status: 'completed', value: [1, ['ToolExecutionError', 'unknown'], 3] });
    expect(outcome!.operations.map(({ status, line }) => [status, line])).toEqual([
      ['completed', 3],
      ['unknown', 5],
      ['completed', 6],
    ]);
    expect(outcome!.logs.map(({ text }) => text)).toEqual(['started']);
    expect(namesOf(effectsIn(folder))).toEqual(['mark {"n":1}', 'mark {"n":2,"hang":true}', 'mark {"n":3}']);
    const replayed = await live(folder, 'replay', { id: kept!.scriptId });
    expect(replayed.outcome).toMatchObject({ status: 'completed', value: [1, ['ToolExecutionError', 'unknown'], 3] });
    expect(effectsIn(folder)).toHaveLength(3);
    const again = await live(folder, 'recover', { id: kept!.scriptId });
    expect(again.outcome).toMatchObject({ status: 'failed', error: { code: 'SuspensionError' } });
  });

  it('is not resumed by another process while its own is alive', async () => {
    const folder = makeFolder();
    let stop: () => void = () => {};
    const source = 'await tools.mark({ n: 1 }); return await tools.mark({ n: 2, hang: true })';
    const running = live(folder, 'run', { source }, (kill) => (stop = kill));
    await until(() => effectsIn(folder).length === 2);
    const [kept] = await listScripts(fileStore(join(folder, 'store')));
    expect(kept?.state).toBe('running');
    const other = await live(folder, 'recover', { id: kept!.scriptId });
    expect(other.outcome).toMatchObject({
      status: 'failed',
      error: {
        message: expect.stringMatching(
          /^Another process is already running this script \(.+ \d+\)\. Wait until the script has ended\.$/u,
        ),
      },
    });
    stop();
    await running;
    expect(effectsIn(folder)).toHaveLength(2);
  });

  it('can be replayed with its output after a failure, without any call', async () => {
    const folder = makeFolder();
    const { outcome } = await live(folder, 'run', {
      source: 'const { n } = await tools.mark({ n: 7 }); console.log("seven is", n); throw new Error(`broke at ${n}`)',
    });
    const replayed = await live(folder, 'replay', { id: outcome!.scriptId });
    expect(replayed.outcome).toMatchObject({
      status: 'failed',
      error: { code: 'ScriptRuntimeError', message: 'Error: broke at 7', line: 1 },
      logs: [{ text: 'seven is 7' }],
      operations: [{ tool: 'mark', status: 'completed', result: { n: 7 } }],
    });
    expect(effectsIn(folder)).toHaveLength(1);
  });
});
