import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileStore, listScripts } from '@toolscript/core';
import { openDatabase } from '@toolscript/service/stores';
import { absentRow, alternate, timeRuns } from '../measure.mjs';
import { BackingServices, missingServers } from '../service/backing-services.mjs';
import { fillStore, openAsking, timeEach } from '../service/waiting-scripts.mjs';

const COUNT = 10_000;
const PAGE = 100;
const SOURCE = 'return await tools.ask({})';

export const name = 'scale-scripts';
export const ownResult = true;

/** Compares suspended scripts in PostgreSQL, with every commit flushed, with suspended scripts in files. */
export async function measure({ effort }) {
  const reason = missingServers();
  if (reason !== undefined)
    return [absentRow({ name, title: 'scripts in PostgreSQL', unit: 'ms', better: 'lower' }, reason)];
  const services = await BackingServices.start();
  const folder = mkdtempSync(join(tmpdir(), 'toolscript-bench-scripts-'));
  const database = await openDatabase(await services.newDatabase('scripts'));
  try {
    return await measureStores({ postgres: database.scripts, files: fileStore(folder) }, effort);
  } finally {
    await database.close();
    await services.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measureStores({ postgres, files }, effort) {
  const stores = [postgres, files];
  const harnesses = stores.map((store) => openAsking(store));
  // This harness shares only the database and the key with the first one.
  const otherWorker = openAsking(postgres);
  const timed = { forMs: effort.blockMs };
  const row = (what, title, limit, block) =>
    alternate(
      { name: `scale-${what}`, title, unit: 'ms', better: 'lower', limit },
      [
        { name: 'PostgreSQL', role: 'ours', block: () => block(postgres, harnesses[0], otherWorker) },
        { name: 'files', role: 'baseline', block: () => block(files, harnesses[1], harnesses[1]) },
      ],
      effort.pacedRounds,
    );
  try {
    await Promise.all([...harnesses, otherWorker].map((harness) => harness.warm()));
    for (const store of stores) await fillStore(store, COUNT);
    return [
      await row('suspend', 'from the start of a script to its stored suspension', 25, (_store, harness) =>
        timeRuns(async () => (await harness.runScript(SOURCE)).status, 'suspended', timed),
      ),
      await row('resume', 'from a decision to the end of the script, in another worker', 25, (_store, harness, other) =>
        timeEach(() => harness.runScript(SOURCE), resumeIn(other), 'completed', timed),
      ),
      await row('list', `a page of ${PAGE} of ${COUNT} suspended scripts`, 20, (store) =>
        timeRuns(async () => (await listScripts(store, { state: 'suspended', limit: PAGE })).length, PAGE, timed),
      ),
      await row('list-all', `all ${COUNT} suspended scripts, by pages of ${PAGE}: the time of a page`, 20, listAll),
    ];
  } finally {
    await Promise.all([...harnesses, otherWorker].map((harness) => harness.close()));
  }
}

function resumeIn(harness) {
  return async ({ scriptId, pendingApprovals: [{ approvalId }] }) =>
    (await harness.resume(scriptId, { [approvalId]: 'approve' })).status;
}

async function listAll({ journal }) {
  const samples = [];
  const ids = new Set();
  for (let after, isFirst = true; isFirst || after !== undefined; isFirst = false) {
    const began = performance.now();
    const page = await journal.list({ state: 'suspended', limit: PAGE, ...(after === undefined ? {} : { after }) });
    samples.push(performance.now() - began);
    for (const { scriptId } of page.scripts) ids.add(scriptId);
    after = page.next;
  }
  assert.ok(ids.size >= COUNT, 'a suspended script is missing');
  return samples;
}
