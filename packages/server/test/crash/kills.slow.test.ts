import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isFinalRunState } from '@toolscript/core/internal';
import { expect, it } from 'vitest';
import { openEventLog, openStores } from '@toolscript/service/stores';
import { operationsIn } from './support/operations.js';
import { chanceFrom } from './support/random.js';
import { startServer, type KillPoint } from './support/server-process.js';
import { Workload, type SubmittedRun } from './support/workload.js';
import { newFolder } from '@toolscript/testkit/folder';

/** The long version is `npm run torture`. */
const KILLS = Number(process.env.TOOLSCRIPT_SERVER_KILLS ?? 12);
const KILLS_OF_A_FOLDER = 12;
const SEED = Number(process.env.TOOLSCRIPT_SEED ?? 1);

const POINTS: readonly (readonly [KillPoint['at'], number])[] = [
  ['after-event', 120],
  ['before-call', 250],
  ['during-call', 250],
  ['after-call', 250],
  ['in-effect', 10],
  ['after-ms', 1_500],
];

/** The first kill is certain to interrupt a run. */
const FIRST_POINT: KillPoint = { at: 'in-effect', count: 1 };

for (let folder = 0; folder < KILLS / KILLS_OF_A_FOLDER; folder++) {
  const seed = SEED + folder;
  const kills = Math.min(KILLS_OF_A_FOLDER, KILLS - folder * KILLS_OF_A_FOLDER);
  it(
    `a server that is killed at ${kills} random points loses no run, event, decision or effect, and duplicates none (seed ${seed})`,
    () => killedServer(seed, kills),
    60_000 + kills * 60_000,
  );
}

async function killedServer(seed: number, kills: number): Promise<void> {
  const chance = chanceFrom(seed);
  const folder = newFolder();
  const workload = new Workload(chance);
  const points: KillPoint[] = [];
  for (let kill = 0; kill < kills; kill++) {
    const [at, most] = POINTS[Math.floor(chance() * POINTS.length)]!;
    const point = kill === 0 ? FIRST_POINT : { at, count: 1 + Math.floor(chance() * most) };
    points.push(point);
    const server = await startServer(folder, { kill: point });
    await workload.keepBusy(server);
    expect(await server.ended, `${JSON.stringify(point)}: ${server.log()}`).toBe('SIGKILL');
  }
  const last = await startServer(folder);
  await workload.finish(last);
  last.child.kill('SIGTERM');
  expect(await last.ended, last.log()).toBe(null);
  const check = await checkerOf(folder);
  for (const run of workload.runs.values()) await check.run(run);
  await check.decisions(workload.decisions);
  await check.close();
  // Without a kill in the middle of a run, this test would prove nothing.
  expect(check.interrupted).toBeGreaterThan(0);
}

async function checkerOf(folder: string) {
  const url = `libsql:${join(folder, 'toolscript.db')}`;
  const stores = await openStores(url);
  const log = await openEventLog(url);
  const effects = readLines(join(folder, 'effects')).map((line) => line.split(' ') as [string, string]);
  expect(new Set(effects.map(([key]) => key)).size, 'an effect was repeated').toBe(effects.length);
  expect(new Set(effects.map(([, tag]) => tag)).size, 'an effect was repeated under another key').toBe(effects.length);
  const tagsOf = (key: string) => effects.flatMap(([, tag]) => (tag.startsWith(`${key}.`) ? [tag] : []));
  const told = { interrupted: 0 };

  const checkRun = async ({ key, runId, events, isCancelled }: SubmittedRun) => {
    const run = (await stores.runs.get(runId))!;
    const stored = (await stores.threads.readEvents(runId)).events;
    const about = `${key} ${runId} ${JSON.stringify(run)}`;
    expect(isFinalRunState(run.state), about).toBe(true);
    if (!isCancelled) expect(run.state, about).toBe('completed');
    expect(
      stored.map(({ seq }) => seq),
      about,
    ).toEqual(stored.map((_event, index) => index));
    expect(events, about).toEqual(stored);
    expect(stored.at(-1)!.payload, about).toMatchObject({ type: 'response_done', status: run.state });
    if (run.epoch > 1) told.interrupted += 1;
    const operations = operationsIn(stored);
    const executed = tagsOf(key);
    for (const tag of executed) {
      const told = operations.get(tag) ?? 'nothing';
      expect(told, `${tag}: ${about} ${JSON.stringify(stored.map(({ payload }) => payload))}`).toMatch(
        /completed|unknown|aborted/u,
      );
    }
    for (const [tag, status] of operations) if (status === 'completed') expect(executed, about).toContain(tag);
  };

  const checkDecisions = async (decisions: ReadonlyMap<string, string>) => {
    for (const [approvalId, decision] of decisions) {
      const approval = (await stores.threads.approval(approvalId))!;
      expect(approval.state).toBe(decision === 'approve' ? 'approved' : 'denied');
      const { tag } = approval.request.input as { tag: string };
      if (decision === 'deny') expect(effects.map(([, executed]) => executed)).not.toContain(tag);
    }
  };

  const close = async () => {
    await log.close();
    await stores.close();
  };
  return {
    run: checkRun,
    decisions: checkDecisions,
    close,
    get interrupted() {
      return told.interrupted;
    },
  };
}

function readLines(path: string): string[] {
  return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : [];
}
