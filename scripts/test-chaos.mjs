// `npm run test:chaos [-- RUNS [SEED [MINUTES]]]`: at least RUNS runs (500) on seven processes over PostgreSQL and Redis servers of its
// own, while processes are killed and paused, servers stop, lose data and are full, connections end, and two clocks are
// a minute wrong. Fails if a run, an event, a decision or an effect is lost or repeated. Writes its figures to
// .chaos/SEED.json, which is not part of the repository.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeMachine } from '../bench/machine.mjs';
import { prepare, root } from './prepare.mjs';

const [runs = '500', seed = String(Date.now() % 1_000_000), minutes = '60'] = process.argv.slice(2);
if (![runs, seed, minutes].every((number) => Number.isSafeInteger(Number(number)) && Number(number) > 0)) {
  console.error(
    'test:chaos: an argument is not a whole number. Give runs, a seed and the time for faults in minutes: npm run test:chaos -- 500 16 60',
  );
  process.exit(2);
}

prepare();
const machine = describeMachine();
const folder = mkdtempSync(join(tmpdir(), 'toolscript-chaos-'));
const measured = join(folder, 'figures.json');
const { status } = spawnSync(
  process.execPath,
  [join(root, 'node_modules/vitest/vitest.mjs'), 'run', 'packages/server/test/chaos'],
  {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      TOOLSCRIPT_CHAOS_RUNS: runs,
      TOOLSCRIPT_CHAOS_SEED: seed,
      TOOLSCRIPT_CHAOS_MINUTES: minutes,
      TOOLSCRIPT_CHAOS_FIGURES: measured,
    },
  },
);
const hasRun = existsSync(measured);
if (hasRun) {
  const figures = { date: new Date().toISOString(), machine, ...JSON.parse(readFileSync(measured, 'utf8')) };
  mkdirSync(join(root, '.chaos'), { recursive: true });
  writeFileSync(join(root, `.chaos/${seed}.json`), `${JSON.stringify(figures, undefined, 2)}\n`);
  console.log(`The figures are in .chaos/${seed}.json.`);
} else if (status === 0) console.error('test:chaos: nothing ran. Install PostgreSQL and Redis 7.');
rmSync(folder, { recursive: true });
process.exit(hasRun ? (status ?? 1) : status || 1);
