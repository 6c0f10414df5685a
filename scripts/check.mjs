// `npm run check`: types, lint, format, unused code and dependencies, architecture, words.
import { prepare, runTool } from './prepare.mjs';

prepare();
/** @type {[string, () => void][]} */
const steps = [
  ['types', () => runTool('typescript', ['-p', 'tsconfig.check.json'])],
  ['types of the guest', () => runTool('typescript', ['-p', 'packages/core/src/sandbox/guest'])],
  ['types of the Convex functions', () => runTool('typescript', ['-p', 'packages/server/convex'])],
  ['types of the page', () => runTool('typescript', ['-p', 'packages/web'])],
  ['types of its tests', () => runTool('typescript', ['-p', 'packages/web/test'])],
  ['lint', () => runTool('oxlint', ['--type-aware', '--deny-warnings'])],
  ['format', () => runTool('oxfmt', ['--check'])],
  ['unused code', () => runTool('knip', ['--no-progress'])],
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
