// `npm run fuzz:flow [-- --runs N --seed S]`: generated scripts, in which the result of one call after the other is
// changed; each argument that changes must be labelled with the call. Then each model of a built-in function is broken
// in turn, which must be noticed.
import { prepare, root } from './prepare.mjs';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const { values } = parseArgs({ options: { runs: { type: 'string' }, seed: { type: 'string' } } });
prepare();
const tests = ['explicit-flows.test.ts', 'flow-fuzz.test.ts', 'broken-models.slow.test.ts'];
const { status } = spawnSync(
  process.execPath,
  [join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...tests.map((test) => `packages/core/test/flow/${test}`)],
  {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      TOOLSCRIPT_FLOW_RUNS: values.runs ?? '100000',
      TOOLSCRIPT_FLOW_SEED: values.seed ?? '1',
    },
  },
);
process.exit(status ?? 1);
