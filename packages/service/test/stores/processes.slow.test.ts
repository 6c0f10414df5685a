import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { EventLog, Run, ServiceStores, StreamEvent } from '@toolscript/core/protocol';
import { openEventLog, openStores } from '#service/stores/index.js';
import { describeWithPostgres, newSchemaUrl } from './postgres/support/test-postgres.js';
import { newFolder } from '@toolscript/testkit/folder';

const PROGRAM = fileURLToPath(new URL('support/service-process.mjs', import.meta.url));
/** The long version is `npm run torture`. */
const PROCESSES = Number(process.env.TOOLSCRIPT_SERVICE_PROCESSES ?? 3);
const RUNS = Number(process.env.TOOLSCRIPT_SERVICE_RUNS ?? 60);
const KILLS = Number(process.env.TOOLSCRIPT_SERVICE_KILLS ?? 12);
const LEASE_MS = Number(process.env.TOOLSCRIPT_SERVICE_LEASE_MS ?? 1_000);

/** The acknowledgements of the processes. */
interface Told {
  readonly lines: string[];
  /** The number of processes that kill themselves if there is enough work for them. */
  mortals: number;
  kills: number;
}

const newFileUrl = async () => `libsql:${newFolder()}/service.db`;

describe('over a file', () => processesOver(newFileUrl));
describeWithPostgres('over PostgreSQL', () => processesOver(newSchemaUrl));

function processesOver(newUrl: () => Promise<string>): void {
  it(
    `${PROCESSES} processes that are killed at random lose and duplicate nothing of ${RUNS} runs`,
    async () => {
      const url = await newUrl();
      const stores = await openStores(url);
      const log = await openEventLog(url);
      const told: Told = { lines: [], mortals: 0, kills: 0 };
      await Promise.all(Array.from({ length: PROCESSES }, (_, index) => keepAlive(url, index, told)));
      expect(told.kills).toBeGreaterThan(KILLS / 2);
      await storeRest(stores, log);
      const all = await allRuns(stores);
      expect(all.length).toBe(RUNS);
      expect(new Set(all.map(({ state }) => state))).toEqual(new Set(['completed']));
      checkAcknowledged(told, all);
      for (const run of all) await checkRun(run, stores, log);
      await checkDecisions(told, stores);
      expect((await log.deadLetters({ group: 'persistence' })).letters).toEqual([]);
      await stores.close();
      await log.close();
    },
    60_000 + RUNS * 2_000,
  );

  it('a run of a killed process is claimed when its lease has ended', async () => {
    const { stores, held } = await killedHolder(newUrl);
    await delay(Math.max(...held.map(({ leaseExpiresAt }) => leaseExpiresAt! - Date.now()), 0) + 1);
    const claimed = new Map<string, number>();
    for (let next = await claim(stores); next !== undefined; next = await claim(stores))
      claimed.set(next.runId, next.epoch);
    for (const { runId, epoch } of held) expect(claimed.get(runId)).toBe(epoch + 1);
  });
}

/** Stores in which a dead process holds the lease of runs. */
async function killedHolder(newUrl: () => Promise<string>): Promise<{ stores: ServiceStores; held: Run[] }> {
  const url = await newUrl();
  const stores = await openStores(url);
  onTestFinished(() => stores.close());
  const child = startProcess(url, 0, 1, [1, 1, 'publish']);
  child.stdout!.resume();
  expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
  const held = (await allRuns(stores)).filter(({ state }) => state === 'running');
  expect(held).not.toEqual([]);
  return { stores, held };
}

async function claim(stores: ServiceStores): Promise<Run | undefined> {
  return (await stores.runs.claim({ owner: 'the test', leaseMs: 60_000 }))?.run;
}

function startProcess(url: string, index: number, processes: number, end: readonly unknown[]): ChildProcess {
  const numbers = [index, processes, RUNS, LEASE_MS, ...end];
  const child = fork(PROGRAM, [url, ...numbers.map(String)], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

/**
 * Starts the process again whenever it has killed itself, until it reports that all is done. Completed work, not time,
 * decides when that is: on every machine, there is enough work for most of the kills.
 */
async function keepAlive(url: string, index: number, told: Told): Promise<void> {
  for (;;) {
    const isMortal = told.mortals < KILLS;
    if (isMortal) told.mortals += 1;
    const work = Math.floor((Math.random() * RUNS) / KILLS);
    const child = startProcess(url, index, PROCESSES, isMortal ? [work, 1 + Math.floor(Math.random() * 10)] : []);
    const closed = once(child, 'close');
    let said = '';
    child.stdout!.setEncoding('utf8').on('data', (text: string) => (said += text));
    const [status] = (await closed) as [number | null];
    // A line that the kill has truncated was not acknowledged.
    told.lines.push(...said.split('\n').slice(0, -1));
    if (said.endsWith('done\n')) return;
    expect(status, 'a process ended by itself').toBe(null);
    told.kills += 1;
  }
}

/** Stores the events that the processes left: some died, and so made runs dead letters. */
async function storeRest({ threads }: ServiceStores, log: EventLog): Promise<void> {
  await delay(LEASE_MS);
  const { letters } = await log.deadLetters({ group: 'persistence', limit: 500 });
  for (const { runId, reason } of letters) {
    expect(reason).toBe('');
    expect(await log.revive('persistence', runId)).toBe(true);
  }
  const group = { group: 'persistence', consumer: 'the test', leaseMs: 60_000 };
  for (let next = await log.receive(group); next !== undefined; next = await log.receive(group)) {
    await threads.append(next.events);
    await log.acknowledge(next);
  }
}

async function allRuns({ runs }: ServiceStores): Promise<Run[]> {
  const all: Run[] = [];
  for (let page = await runs.list({ limit: 500 }); ; page = await runs.list({ limit: 500, after: page.next! })) {
    all.push(...page.runs);
    if (page.next === undefined) return all;
  }
}

function checkAcknowledged({ lines }: Told, all: readonly Run[]): void {
  const epochs = new Map(all.map(({ runId, epoch }) => [runId, epoch]));
  const created = new Map<string, string>();
  const finished = new Set<string>();
  for (const [word, first = '', second = ''] of lines.map((line) => line.split(' '))) {
    if (word === 'created') expect(created.get(first) ?? second).toBe(second);
    if (word === 'created') created.set(first, second);
    if (word === 'created') expect(epochs.has(second)).toBe(true);
    if (word === 'finished') expect(epochs.get(first)).toBe(Number(second));
    if (word === 'finished') expect(finished.has(first)).toBe(false);
    if (word === 'finished') finished.add(first);
  }
  expect(created.size).toBe(RUNS);
}

/** The log has each event once, written under epochs that only rise; the thread store has the same. */
async function checkRun({ runId }: Run, { threads }: ServiceStores, log: EventLog): Promise<void> {
  const { events } = await log.read(runId);
  expect((await threads.readEvents(runId)).events).toEqual(events);
  const said = events.slice(0, -1).map(saidBy);
  const { number } = said[0]!;
  expect(events.map(({ seq }) => seq)).toEqual(Array.from({ length: 7 + (number % 4) }, (_, seq) => seq));
  expect(events.at(-1)?.payload).toEqual({ type: 'response_done', status: 'completed' });
  const epochs = said.map(({ epoch }) => epoch);
  expect(epochs).toEqual(epochs.toSorted((left, right) => left - right));
  const state = (await threads.approval(`apr_${runId}`))?.state;
  expect(state === undefined).toBe(number % 3 !== 0);
  for (const { decided } of said.slice(4)) expect(decided).toBe(state);
}

function saidBy({ payload }: StreamEvent): { number: number; epoch: number; decided?: string } {
  if (payload.type !== 'item_done' || payload.final_item.type !== 'message') throw new Error('another event');
  return JSON.parse(payload.final_item.content) as ReturnType<typeof saidBy>;
}

async function checkDecisions({ lines }: Told, { threads }: ServiceStores): Promise<void> {
  const winners = new Map<string, string>();
  for (const [word, approvalId = '', state = ''] of lines.map((line) => line.split(' '))) {
    if (word !== 'won') continue;
    expect(winners.has(approvalId), 'two winners').toBe(false);
    winners.set(approvalId, state);
  }
  for (const [approvalId, state] of winners) expect((await threads.approval(approvalId))?.state).toBe(state);
  expect(winners.size).toBeGreaterThan(RUNS / 6);
}
