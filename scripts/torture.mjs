// `npm run torture [-- KILLS]`: runs these cases: it kills at least KILLS processes with scripts (1 000) at random
// points, while another process recovers the scripts, over a store of files and over a slow one; it makes every file
// operation of a script fail with ENOSPC, EIO and half a write; it flips 300 bits, and truncates 300 files, of each
// kind; it kills 10 processes of a service at random over KILLS runs in one database; it kills a server with running
// work at KILLS / 5 points, and restarts it with the same data; it sends 300 sequences of calls to a store in memory
// and to one in a file, which must give the same answers. Fails if an effect is repeated, if a script, a run or an
// event is lost or stranded, or if a report to the host differs from the store.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { prepare, root } from './prepare.mjs';

const SCRIPTS_A_PROCESS = 8;
const kills = Number(process.argv[2] ?? 1_000);
if (!(Number.isSafeInteger(kills) && kills > 0)) {
  console.error('torture: the argument is not a whole number. Give the number of kills: npm run torture -- 1000');
  process.exit(2);
}

prepare();
const tests = [
  ...['kills.slow', 'store-faults', 'damage'].map((name) => `packages/core/test/suspension/${name}.test.ts`),
  'packages/service/test/stores/processes.slow.test.ts',
  'packages/service/test/stores/same-answers.slow.test.ts',
  'packages/server/test/crash/kills.slow.test.ts',
];
const { status } = spawnSync(
  process.execPath,
  [join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--testTimeout', '7200000', ...tests],
  {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      TOOLSCRIPT_KILLS: String(Math.ceil(kills / SCRIPTS_A_PROCESS)),
      TOOLSCRIPT_FAULT_STRIDE: '1',
      TOOLSCRIPT_DAMAGE: '300',
      TOOLSCRIPT_STORE_SEQUENCES: '300',
      TOOLSCRIPT_SERVICE_PROCESSES: '10',
      TOOLSCRIPT_SERVICE_RUNS: String(kills),
      TOOLSCRIPT_SERVICE_LEASE_MS: '3000',
      TOOLSCRIPT_SERVICE_KILLS: String(Math.ceil(kills * 0.3)),
      TOOLSCRIPT_SERVER_KILLS: String(Math.ceil(kills / 5)),
    },
  },
);
process.exit(status ?? 1);
