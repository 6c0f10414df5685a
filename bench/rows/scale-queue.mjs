import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openStores } from '@toolscript/service/stores';
import { fillQueue, fillTables } from '../../packages/service/test/stores/postgres/support/fill-tables.mjs';
import { absentRow, alternate } from '../measure.mjs';
import { BackingServices, missingServers } from '../service/backing-services.mjs';

const QUIET = 20;
/** Runs at the same time, and how long each one takes, in ms. */
const SLOTS = 8;
const RUN_MS = 20;
const LEASE = { owner: 'the benchmark', leaseMs: 60_000 };

export const name = 'scale-queue';
export const ownResult = true;

/** Measures claims from a queue: one principal has thousands of runs, and each later principal has one. */
export async function measure({ effort }) {
  const reason = missingServers();
  if (reason !== undefined) return [absentRow({ name, title: 'a long queue', unit: 'ms', better: 'lower' }, reason)];
  const services = await BackingServices.start();
  const folder = mkdtempSync(join(tmpdir(), 'toolscript-bench-queue-'));
  const postgres = await openStores(await services.newDatabase('queue'));
  const file = await openStores(`libsql:${join(folder, 'service.db')}`);
  try {
    const size = { noisy: effort.queuedRuns, quiet: QUIET };
    const tables = { threads: 5_000, eventsPerRun: 3, principals: 50 };
    for (const sql of [...fillTables(tables), ...fillQueue(size)]) await services.query('queue', sql);
    await fillFile(file, size);
    return await measureStores({ postgres, file }, size.noisy);
  } finally {
    await Promise.all([postgres.close(), file.close()]);
    await services.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measureStores(stores, noisy) {
  const claims = {};
  const waits = {};
  for (const [place, { runs }] of Object.entries(stores)) [claims[place], waits[place]] = await work(runs);
  const many = noisy.toLocaleString('en-US').replaceAll(',', ' ');
  const row = (what, title, samples) =>
    alternate(
      {
        name: `scale-${what}`,
        title: `${title}, behind ${many} queued runs of one principal`,
        unit: 'ms',
        better: 'lower',
      },
      [
        { name: 'PostgreSQL', role: 'ours', block: () => samples.postgres },
        { name: 'a file', role: 'baseline', block: () => samples.file },
      ],
      1,
    );
  const wait = await row(
    'queue-wait',
    `the wait of ${QUIET} runs of other principals for one of ${SLOTS} workers`,
    waits,
  );
  wait.notes = [
    `a run takes ${RUN_MS} ms; without the long queue, the last one would wait ${(QUIET / SLOTS) * RUN_MS} ms`,
  ];
  return [await row('claim', `a claim while ${SLOTS} runs are held`, claims), wait];
}

/** Claims runs until the runs of all quiet principals have started. Returns the times of the claims, and the waits. */
async function work(runs) {
  const claims = [];
  const waits = [];
  const began = performance.now();
  const slot = async () => {
    while (waits.length < QUIET) {
      const startedAt = performance.now();
      const { run } = await runs.claim(LEASE);
      claims.push(performance.now() - startedAt);
      if (run.principal !== 'noisy') waits.push(performance.now() - began);
      await sleep(RUN_MS);
      await runs.finish({ runId: run.runId, epoch: run.epoch }, { state: 'completed' });
    }
  };
  await Promise.all(Array.from({ length: SLOTS }, slot));
  assert.equal(waits.length, QUIET);
  return [claims, waits];
}

async function fillFile({ runs }, { noisy, quiet }) {
  const input = [{ type: 'message', id: 'item_u', role: 'user', content: 'Hello' }];
  const add = (principal) => runs.create({ principal, thread: { create: {} }, input });
  for (let index = 0; index < noisy; index += 500)
    await Promise.all(Array.from({ length: Math.min(500, noisy - index) }, () => add('noisy')));
  for (let index = 0; index < quiet; index += 1) await add(`quiet${index}`);
}
