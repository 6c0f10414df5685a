// `npm run fuzz:bridge [-- --cases N --seed S]`: runs generated hostile scripts against the bridge between guest and
// host, with memory and stack that end at random moments. An eighth of the scripts run through a whole harness with its
// threads. `-- --replay FILE` repeats one case.
import { prepare, root } from './prepare.mjs';
import { spawnSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: { cases: { type: 'string' }, seed: { type: 'string' }, replay: { type: 'string' } },
});
prepare();
const { status } = spawnSync(
  process.execPath,
  [join(root, 'node_modules/vitest/vitest.mjs'), 'run', 'packages/core/test/hostile/bridge-fuzz.slow.test.ts'],
  {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      FUZZ_CASES: values.cases ?? '100000',
      FUZZ_SEED: values.seed ?? '1',
      ...(values.replay !== undefined && { FUZZ_REPLAY: resolve(values.replay) }),
    },
  },
);
process.exit(status ?? 1);
