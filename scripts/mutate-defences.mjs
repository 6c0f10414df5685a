// `npm run mutate:defences [-- NAME …] [-- --shard 1/4]`: removes each defence in turn from a copy of the repository,
// builds the copy, and runs the test that design/defences.md names for the defence. If the test still passes, the tests
// have a gap. Ends with status 1 if the tests notice less than 95 % of the removals.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findMarks, readTable, withoutDefence } from './defences.mjs';
import { prepare } from './prepare.mjs';
import { buildTypes, copyRepository, runIn, runTests } from './repository-copy.mjs';

const REQUIRED = 0.95;

prepare();
/** Defences whose tests need the package isolated-vm, which `npm run test:isolated-vm` installs. */
const NEEDS_ISOLATED_VM = /^packages\/isolated-vm\/src\/(?!live\.ts)/u;
const hasIsolatedVm = process.env.TOOLSCRIPT_ISOLATED_VM !== undefined;

const words = process.argv.slice(2);
const onlyIsolatedVm = words.includes('--only-isolated-vm');
const { names, shard } = readArguments(words.filter((word) => word !== '--only-isolated-vm'));
const tests = new Map(readTable().map((row) => [row.name, row]));
const chosen = findMarks()
  .filter(({ name }) => names.length === 0 || names.includes(name))
  .filter(({ file }) => !onlyIsolatedVm || file.startsWith('packages/isolated-vm/'))
  .filter(({ file }) => hasIsolatedVm || !NEEDS_ISOLATED_VM.test(file))
  .filter((_mark, index) => index % shard.of === shard.number - 1);
if (!hasIsolatedVm)
  console.log('Skipped the defences of isolated-vm. To test them: npm run test:isolated-vm -- --mutate');
const copy = copyRepository();

const survivors = [];
for (const mark of chosen) {
  const verdict = judge(mark);
  if (verdict !== 'noticed') survivors.push(mark.name);
  console.log(`${verdict.padEnd(12)} ${mark.name}`);
}
const noticed = chosen.length - survivors.length;
console.log(`\n${noticed} of ${chosen.length} defences are noticed when they are missing.`);
if (survivors.length > 0) console.log(`Not noticed: ${survivors.join(', ')}`);
process.exitCode = noticed < chosen.length * REQUIRED ? 1 : 0;

function readArguments(words) {
  const at = words.indexOf('--shard');
  if (at < 0) return { names: words, shard: { number: 1, of: 1 } };
  const [number, of] = (words[at + 1] ?? '').split('/').map(Number);
  if (!(number >= 1 && number <= of)) {
    console.error('--shard is not a part of a whole. Write, for example: --shard 1/4');
    process.exit(2);
  }
  return { names: words.toSpliced(at, 2), shard: { number, of } };
}

/** `noticed`, `survived`, `no test` if the table names none, or `no build`. */
function judge(mark) {
  const test = tests.get(mark.name);
  if (test === undefined) return 'no test';
  const path = join(copy, mark.file);
  const original = readFileSync(path, 'utf8');
  try {
    writeFileSync(path, withoutDefence(mark, original));
    if (!rebuild(mark.file, test.file)) return 'no build';
    return runTest(test) ? 'survived' : 'noticed';
  } finally {
    writeFileSync(path, original);
    rebuild(mark.file, test.file);
  }
}

/** Rebuilds what the test runs, and returns whether every step succeeded. */
function rebuild(file, testFile) {
  const steps = [];
  if (file.startsWith('packages/core/src/sandbox/')) steps.push(['packages/core/build/build-sandbox.mjs']);
  if (file.startsWith('packages/isolated-vm/src/guest/')) steps.push(['packages/isolated-vm/build/build-guest.mjs']);
  if (testFile.startsWith('packages/cli/') || testFile.startsWith('scripts/'))
    steps.push(['packages/cli/build/bundle.mjs']);
  return buildTypes(copy) && steps.every((step) => runIn(copy, step));
}

function runTest({ file, title }) {
  return runTests(copy, [file, '-t', title.replaceAll(/[$()*+.?[\\\]^{|}]/gu, '\\$&')]);
}
