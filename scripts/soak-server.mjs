// `npm run soak:server [-- RUNS [DROPS [SEED]]]`: RUNS concurrent runs (200) on one server, with four clients for each.
// One of the four loses its connection at random, DROPS times (1 000) in total, and the server restarts once. Fails if
// the events of a client do not fold into the stored thread. Prints the figures and the seed.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { prepare, root } from './prepare.mjs';

const [runs = '200', drops = '1000', seed = String(Date.now() % 1_000_000)] = process.argv.slice(2);
if (![runs, drops, seed].every((number) => Number.isSafeInteger(Number(number)) && Number(number) > 0)) {
  console.error(
    'soak:server: an argument is not a whole number. Give runs, drops and a seed: npm run soak:server -- 200 1000 16',
  );
  process.exit(2);
}

prepare();
const test = 'packages/client/test/stream-laws.test.ts';
const { status } = spawnSync(
  process.execPath,
  [join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--testTimeout', '3600000', test],
  {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      TOOLSCRIPT_STREAM_RUNS: runs,
      TOOLSCRIPT_STREAM_DROPS: drops,
      TOOLSCRIPT_STREAM_SEED: seed,
    },
  },
);
process.exit(status ?? 1);
