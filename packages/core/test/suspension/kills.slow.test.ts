import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { fileStore, listScripts } from '#core/index.js';
import type { Operation, ScriptFailure } from '#core/protocol/index.js';
import { sharedThreads } from '@toolscript/testkit/shared-threads';
import { until } from '@toolscript/testkit/until';
import { live as liveHere } from './lives.mjs';

const LIFE = fileURLToPath(new URL('life.mjs', import.meta.url));

/** The number of processes. Every script of a process is at a different point when the process is killed. */
const PROCESSES = Number(process.env['TOOLSCRIPT_KILLS'] ?? (process.env['CI'] === undefined ? 6 : 12));
const SCRIPTS = 8;

/** A short random generator; sfc32 would do as well. */
function chanceFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Reads, effects in parallel and in sequence, effects in the middle of a computation, and questions. */
function scriptOf(chance: () => number): string {
  const steps = Array.from({ length: 6 }, (_, step) => {
    const ms = Math.floor(chance() * 12);
    switch (Math.floor(chance() * 5)) {
      case 0:
        return `await tools.read({ step: ${step}, ms: ${ms} });`;
      case 1:
        return `await keep(tools.mark({ step: ${step}, ms: ${ms} }));`;
      case 2:
        return `await Promise.all([keep(tools.mark({ step: ${step}, a: 1, ms: ${ms} })), keep(tools.mark({ step: ${step}, a: 2 })), tools.read({})]);`;
      case 3:
        return `await Promise.all([keep(tools.note({ step: ${step} })), keep(tools.mark({ step: ${step}, ms: ${ms} }))]);`;
      default:
        return `{ const effect = keep(tools.mark({ step: ${step} })); for (let i = 0; i < 200_000; i++); await effect; await sleep(${ms}); }`;
    }
  });
  return `const keep = (call) => call.catch((error) => error.data?.status ?? error.name); ${steps.join(
    '\n',
  )} return 'done';`;
}

/** A script that waits for a user when its process is killed. */
const ASKING = 'return await tools.note({});';

/** A script that is inside an effect when its process is killed, so that every kill cuts off at least one call. */
const INSIDE_AN_EFFECT = 'return await tools.mark({ hang: true }).catch((error) => error.data?.status ?? error.name);';

interface Told {
  scriptId: string;
  status: string;
  operations: Operation[];
  error?: ScriptFailure;
}

/** Returns true if the scripts have begun: those of `run-all` with the effect in which one of them stays. */
function hasEffects(effects: string, action: string): boolean {
  return existsSync(effects) && (action !== 'run-all' || readFileSync(effects, 'utf8').includes('"hang":true'));
}

/**
 * Every complete line that the process printed before it ended, or was killed some time after its scripts had begun.
 * `told`: when it has also reported a suspension.
 */
function live(folder: string, action: string, options: object, killAfterMs?: number | 'told'): Promise<Told[]> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [LIFE, folder, action, JSON.stringify(options)]);
    let stdout = '';
    let stderr = '';
    let timer: NodeJS.Timeout | undefined;
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    const effects = join(folder, 'effects');
    const begun = setInterval(() => {
      if (killAfterMs === undefined || !hasEffects(effects, action)) return;
      if (killAfterMs === 'told' && !/"status":"suspended".*\n/u.test(stdout)) return;
      clearInterval(begun);
      timer = setTimeout(() => child.kill('SIGKILL'), killAfterMs === 'told' ? 0 : killAfterMs);
    }, 2);
    child.once('close', () => {
      clearInterval(begun);
      clearTimeout(timer);
      if (stderr !== '') reject(new Error(stderr));
      else
        resolve(
          stdout
            .split('\n')
            .slice(0, -1)
            .map((line) => JSON.parse(line) as Told),
        );
    });
  });
}

it(`processes killed at ${
  PROCESSES * SCRIPTS
} random points of their scripts repeat no effect, and lose no script that they reported`, async () => {
  let unknown = 0;
  let suspendedBefore = 0;
  for (let run = 0; run < PROCESSES; run++) {
    const chance = chanceFrom(run + 1);
    const folder = mkdtempSync(join(tmpdir(), 'toolscript-kills-'));
    const sources = [INSIDE_AN_EFFECT, ASKING, ...Array.from({ length: SCRIPTS - 2 }, () => scriptOf(chance))];
    const slowMs = run % 4 === 3 ? 5 : 0;
    const watching = run % 2 === 1 ? live(folder, 'watch', { slowMs }) : undefined;
    const told = await live(folder, 'run-all', { sources, slowMs }, run % 5 === 0 ? 'told' : chance() * 200);
    // From here on, the hanging call would end at once if it were repeated.
    writeFileSync(join(folder, 'go'), '');
    let watched: Told[] = [];
    if (watching !== undefined) {
      await until(async () =>
        (await listScripts(fileStore(join(folder, 'store')))).some(({ state }) => state === 'ended'),
      );
      writeFileSync(join(folder, 'STOP'), '');
      watched = await watching;
    }
    const store = fileStore(join(folder, 'store'));
    const kept = await listScripts(store);
    if (watching === undefined) expect(kept.map(({ state }) => state)).toContain('interrupted');
    for (const { scriptId, status } of told) {
      if (status !== 'suspended') continue;
      suspendedBefore += 1;
      if (watching === undefined) expect(kept.find((script) => script.scriptId === scriptId)?.state).toBe('suspended');
    }
    // Half of the recovering processes are killed too.
    if (run % 2 === 0) await live(folder, 'finish-all', { slowMs }, chance() * 60).catch(() => {});
    const finished: Told[] = [];
    await liveHere(folder, 'finish-all', {}, (end: Told) => finished.push(end), sharedThreads());
    // A SuspensionError says that another process has reported the end.
    const all = [...watched, ...finished].filter(({ error }) => error?.code !== 'SuspensionError');
    const ends = new Map(all.map((end) => [end.scriptId, end]));
    const effects = readFileSync(join(folder, 'effects'), 'utf8').trim().split('\n');
    const keys = effects.map((line) => line.split(' ')[0]!);
    expect(new Set(keys).size, `${run}: an effect was repeated`).toBe(keys.length);
    for (const end of ends.values()) {
      if (end.status === 'suspended') continue;
      expect(end.status, JSON.stringify(end.error)).toBe('completed');
      const tookEffect = keys.filter((key) => key.startsWith(`${end.scriptId}:`)).length;
      const done = end.operations.filter(({ effect, status }) => effect !== 'read' && status === 'completed').length;
      const open = end.operations.filter(({ effect, status }) => effect !== 'read' && status === 'unknown').length;
      unknown += open;
      expect(tookEffect).toBeGreaterThanOrEqual(done);
      expect(tookEffect).toBeLessThanOrEqual(done + open);
    }
    rmSync(folder, { recursive: true, force: true });
  }
  // Without a kill in the middle of a script, this test would prove nothing.
  expect(unknown).toBeGreaterThanOrEqual(Math.floor(PROCESSES / 2));
  expect(suspendedBefore).toBeGreaterThan(0);
}, 7_200_000);
