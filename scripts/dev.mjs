// `npm run dev`: watches the sources and the tests of the packages. After each change it compiles, and runs the tests that
// are nearest to the changed files (`nearest-tests.mjs`). Changes of the guest, the page or the command's bundle also need
// `npm run build`. Ctrl-C ends it.
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, watch } from 'node:fs';
import { join, relative } from 'node:path';
import { nearestTests } from './nearest-tests.mjs';
import { prepare, root, toolPath } from './prepare.mjs';

/** An editor writes several files at once. */
const SETTLED_MS = 200;

prepare();
const changed = new Set();
let isRunning = false;
let timer;
for (const name of readdirSync(join(root, 'packages')))
  for (const part of ['src', 'test']) watchFolder(join(root, 'packages', name, part));
console.log('Waiting for a change in packages/*/src or packages/*/test …');

function watchFolder(folder) {
  if (!existsSync(folder)) return;
  watch(folder, { recursive: true }, (_event, file) => {
    if (file === null || !/\.tsx?$/u.test(file)) return;
    changed.add(relative(root, join(folder, file)));
    clearTimeout(timer);
    timer = setTimeout(() => void runChanged(), SETTLED_MS);
  });
}

/** Changes that come meanwhile are tested next. */
async function runChanged() {
  if (isRunning || changed.size === 0) return;
  isRunning = true;
  const files = [...changed];
  changed.clear();
  console.log(`\n${files.join(', ')}`);
  const tests = nearestTests(files);
  if (tests.length === 0) console.log('No test imports it.');
  if ((await runTool('typescript', ['-b'])) && tests.length > 0) await runTool('vitest', ['run', ...tests]);
  isRunning = false;
  await runChanged();
}

/** Resolves with whether it succeeded. */
function runTool(name, args) {
  const child = spawn(process.execPath, [toolPath(name), ...args], { cwd: root, stdio: 'inherit' });
  return new Promise((resolve) => child.on('exit', (status) => resolve(status === 0)));
}
