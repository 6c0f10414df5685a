// `npm run soak [-- COUNT]`: runs many scripts of every kind in one process. Fails if memory grows, if a rejection is
// not handled, or if the process does not end by itself after close().
import { prepare, root } from './prepare.mjs';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

prepare();
const count = process.argv[2] ?? '20000';
const { status } = spawnSync(process.execPath, ['--expose-gc', join(root, 'packages/core/test/soak/soak.mjs'), count], {
  stdio: 'inherit',
});
process.exit(status ?? 1);
