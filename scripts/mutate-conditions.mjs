// `npm run mutate:conditions [-- --count 60] [-- --seed 1]`: fixes conditions without a defence's mark, one at a time, to
// true or to false, in a copy of the repository, and runs the tests of core in which that changes the condition's value.
// If these still pass, they have a gap. All conditions are built at once, and a variable of the environment says which
// one is fixed. The seed decides which conditions are tried. Ends with status 1 if the tests notice less than 90 %.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { parseSync } from 'oxc-parser';
import { prepare, root } from './prepare.mjs';
import { buildTypes, copyRepository, runTests } from './repository-copy.mjs';

const REQUIRED = 0.9;
const SOURCES = ['calls', 'run', 'tools'].map((folder) => `packages/core/src/${folder}/*.ts`);
const LAWS = 'packages/core/test';
/** Test files that run for one condition: the nearest first, then those that change the fewest other conditions. */
const MAX_TESTS = 75;
/** Test files that run together. The next ones run only if these notice nothing. */
const BATCH = 15;

/** Appended to each changed file. Writes which test reaches a condition whose value would change. */
const SWITCH = `
function fixedForTest(id, value, condition) {
  const { TOOLSCRIPT_FIXED: fixed, TOOLSCRIPT_REACHED: report, TOOLSCRIPT_TEST_FILE: test } = process.env;
  if (report !== undefined && Boolean(condition) !== value) {
    const line = \`\${test} \${id}\\n\`;
    const reached = (globalThis.reachedConditions ??= new Set());
    if (!reached.has(line)) process.getBuiltinModule('node:fs').appendFileSync(report, line);
    reached.add(line);
  }
  return fixed === String(id) ? value : condition;
}
`;
/** Appended to a file that Vitest runs before each file of tests. */
const NAME_TEST = `\nprocess.env['TOOLSCRIPT_TEST_FILE'] = expect.getState().testPath;\n`;

prepare();
const { values } = parseArgs({
  options: { count: { type: 'string', default: '60' }, seed: { type: 'string', default: '1' } },
});
const random = randomOf(Number(values.seed));
const sample = withoutNested(shuffled(findConditions())).slice(0, Number(values.count));
const copy = copyRepository();
switchConditions();
const testsOf = findTests();
const survivors = [];
for (const [id, { file, line, text, value }] of sample.entries()) {
  const verdict = judge(id);
  const shown = `${file}:${line} ${text} → ${value}`;
  if (verdict !== 'noticed') survivors.push(shown);
  console.log(`${verdict.padEnd(11)} ${shown}`);
}
const noticed = sample.length - survivors.length;
console.log(`\n${noticed} of ${sample.length} changed conditions are noticed.`);
for (const survivor of survivors) console.log(`Not noticed: ${survivor}`);
process.exitCode = noticed < sample.length * REQUIRED ? 1 : 0;

/**
 * `noticed`, `survived`, `timed out` if tests neither failed nor ended, or `not reached` if the condition has the fixed
 * value in every test.
 */
function judge(id) {
  const tests = (testsOf.get(id) ?? []).slice(0, MAX_TESTS);
  for (let from = 0; from < tests.length; from += BATCH) {
    const batch = tests.slice(from, from + BATCH);
    const passed = runTests(copy, ['--project', 'fast', ...batch], { TOOLSCRIPT_FIXED: `${id}` });
    if (passed !== true) return passed === undefined ? 'timed out' : 'noticed';
  }
  return tests.length === 0 ? 'not reached' : 'survived';
}

/** Gives each condition of the sample its switch, and builds. */
function switchConditions() {
  const setUp = join(copy, 'packages/testkit/src/memory-folder.ts');
  writeFileSync(setUp, readFileSync(setUp, 'utf8') + NAME_TEST);
  for (const [file, conditions] of grouped([...sample.entries()], ([, condition]) => condition.file)) {
    let source = readFileSync(join(copy, file), 'utf8');
    // From the end, so that the offsets of the others stay true.
    for (const [id, { start, end, value }] of conditions.toSorted(([, a], [, b]) => b.start - a.start))
      source = `${source.slice(0, start)}fixedForTest(${id}, ${value}, (${source.slice(start, end)}))${source.slice(end)}`;
    writeFileSync(join(copy, file), source + SWITCH);
  }
  if (!buildTypes(copy)) throw new Error('The copy with its switches does not build.');
}

/** The test files that change each condition's value, by the condition's number, in the order in which they run. */
function findTests() {
  const report = join(copy, 'reached.txt');
  runTests(copy, ['--project', 'fast', LAWS], { TOOLSCRIPT_REACHED: report }, { all: true });
  const lines = existsSync(report) ? [...new Set(readFileSync(report, 'utf8').trim().split('\n'))] : [];
  const pairs = lines
    .map((line) => line.split(' '))
    .map(([test, id]) => ({ test: relative(copy, test), id: Number(id) }));
  const perTest = grouped(pairs, ({ test }) => test);
  const order = (file) => (a, b) =>
    distance(a, file) - distance(b, file) || perTest.get(a).length - perTest.get(b).length;
  return new Map(
    [...grouped(pairs, ({ id }) => id)].map(([id, all]) => [
      id,
      all.map(({ test }) => test).toSorted(order(sample[id].file)),
    ]),
  );
}

/** 0: the test names the source file. 1: its folder, or the test itself, has the name of one of the source's folders. */
function distance(test, file) {
  const path = relative('packages/core/src', file);
  if (readFileSync(join(root, test), 'utf8').includes(path.replace(/\.ts$/u, '.js'))) return 0;
  const names = [...dirname(path).split('/'), basename(path, '.ts')];
  return names.includes(basename(dirname(test))) || names.includes(basename(test, '.test.ts')) ? 1 : 2;
}

function grouped(items, keyOf) {
  const groups = new Map();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}

/** Leaves out a condition inside of one that comes before it, or around one. */
function withoutNested(conditions) {
  const kept = [];
  for (const one of conditions)
    if (!kept.some(({ file, start, end }) => file === one.file && start < one.end && one.start < end)) kept.push(one);
  return kept;
}

/** Every condition of `if` and `? :` that is not a part of a marked defence. */
function findConditions() {
  const { stdout } = spawnSync('git', ['ls-files', ...SOURCES], { cwd: root, encoding: 'utf8' });
  return stdout
    .trim()
    .split('\n')
    .flatMap((file) => {
      const source = readFileSync(join(root, file), 'utf8');
      const marked = markedStarts(source);
      const found = [];
      visit(parseSync(file, source, { lang: 'ts', sourceType: 'module' }).program, (node) => {
        if (marked.has(node.start)) return false;
        if (node.type !== 'IfStatement' && node.type !== 'ConditionalExpression') return true;
        const { start, end } = node.test;
        const line = source.slice(0, start).split('\n').length;
        found.push({
          file,
          line,
          start,
          end,
          text: source.slice(start, end).replaceAll(/\s+/gu, ' '),
          value: random() < 0.5,
        });
        return true;
      });
      return found;
    });
}

/** The offsets of the statements, members and properties that have a mark. */
function markedStarts(source) {
  const marks = source.matchAll(/\/\/ defence: [a-z0-9-]+\n\s*(?:\/\/[^\n]*\n\s*)*/gu);
  return new Set([...marks].map(({ 0: text, index }) => index + text.length));
}

/** Visits a tree. `enter` returns whether the children are visited. */
function visit(value, enter) {
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) return value.forEach((item) => visit(item, enter));
  if (typeof value.type === 'string' && !enter(value)) return;
  for (const member of Object.values(value)) visit(member, enter);
}

function shuffled(items) {
  return items
    .map((item) => [random(), item])
    .toSorted(([a], [b]) => a - b)
    .map(([, item]) => item);
}

/** Numbers from 0 to 1 (Mulberry32). */
function randomOf(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let word = Math.imul(state ^ (state >>> 15), 1 | state);
    word = (word + Math.imul(word ^ (word >>> 7), 61 | word)) ^ word;
    return ((word ^ (word >>> 14)) >>> 0) / 4_294_967_296;
  };
}
