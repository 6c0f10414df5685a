// `npm run first-answer`: runs the scripts of an answer on a copy of a sample project, and prints the next commands to
// try.
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawnSync } from 'node:child_process';
import { prepare, root } from './prepare.mjs';

prepare();
const example = join(root, 'examples/01-first-answer');
const folder = mkdtempSync(join(tmpdir(), 'toolscript-first-answer-'));
cpSync(join(example, 'project'), folder, { recursive: true });
console.log(`Running the scripts of examples/01-first-answer/answer.md on a copy of its sample project.\n`);
const cli = join(root, 'packages/cli/bin/toolscript.js');
const { status } = spawnSync(
  process.execPath,
  // Runs without the OS sandbox: the answer is part of this repository, and a new machine may lack the programs that
  // the sandbox needs.
  [cli, 'run', join(example, 'answer.md'), '--cwd', folder, '--approve', 'auto', '--exec-sandbox', 'off'],
  { stdio: 'inherit' },
);
rmSync(folder, { recursive: true, force: true });
console.log(`
Next steps:
  node packages/cli/bin/toolscript.js eval -e 'return await tools.listDir({ path: "." })'
  node packages/cli/bin/toolscript.js tools --types
  node packages/cli/bin/toolscript.js doctor
  npm test`);
process.exit(status ?? 1);
