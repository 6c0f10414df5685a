// `npm run check`: types, lint, format, unused code and dependencies, API reports, architecture, words.
import { join } from 'node:path';
import { prepare, root, run, runTool } from './prepare.mjs';

prepare();
/** @type {[string, () => void][]} */
const steps = [
  ['types', () => runTool('typescript', ['-p', 'tsconfig.check.json'])],
  ['types of the guest', () => runTool('typescript', ['-p', 'packages/core/src/sandbox/guest'])],
  ['types of the guest for V8', () => runTool('typescript', ['-p', 'packages/isolated-vm/src/guest'])],
  ['types of the Convex functions', () => runTool('typescript', ['-p', 'packages/server/convex'])],
  ['types of the page', () => runTool('typescript', ['-p', 'packages/web'])],
  ['types of its tests', () => runTool('typescript', ['-p', 'packages/web/test'])],
  ['lint', () => runTool('oxlint', ['--type-aware', '--deny-warnings'])],
  ['format', () => runTool('oxfmt', ['--check'])],
  ['unused code', () => runTool('knip', ['--no-progress'])],
  ['API reports', () => run(process.execPath, [join(root, 'scripts/api.mjs'), '--check'])],
  [
    'architecture and words',
    () => runTool('vitest', ['run', 'scripts/test/architecture.test.ts', 'scripts/test/english.test.ts']),
  ],
];
for (const [name, step] of steps) {
  console.error(`\n— ${name}`);
  step();
}
console.error('\nAll checks passed.');
