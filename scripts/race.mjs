// `npm run race [-- COUNT]`: at least COUNT swaps (100 000) of files and folders for links that lead out of a
// workspace, while at least as many tool calls read, write, list, search and patch there. Fails if a call reaches a
// file outside the workspace.
import { prepare, root } from './prepare.mjs';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

prepare();
const { status } = spawnSync(
  process.execPath,
  [join(root, 'packages/tools/test/race/race.mjs'), process.argv[2] ?? '100000'],
  { stdio: 'inherit' },
);
process.exit(status ?? 1);
