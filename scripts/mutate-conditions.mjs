// `npm run mutate:conditions [-- --count 60] [-- --seed 1]`: fixes conditions without a defence's mark, one at a time, to
// true or to false, in a copy of the repository, and runs the nearest tests; if they pass, all laws of calls. If these
// still pass, they have a gap. The seed decides which conditions are tried. Ends with status 1 if the tests notice less
// than 90 %.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { parseSync } from 'oxc-parser';
import { nearestTests } from './nearest-tests.mjs';
import { prepare, root } from './prepare.mjs';
import { buildTypes, copyRepository, runTests } from './repository-copy.mjs';

const REQUIRED = 0.9;
const SOURCES = ['calls', 'run', 'tools'].map((folder) => `packages/core/src/${folder}/*.ts`);

/** The tests of everything that a call does. */
const LAWS = ['approvals', 'harness', 'session', 'suspension', 'tools'].map((folder) => `packages/core/test/${folder}`);

prepare();
const { values } = parseArgs({
  options: { count: { type: 'string', default: '60' }, seed: { type: 'string', default: '1' } },
});
const random = randomOf(Number(values.seed));
const sample = shuffled(findConditions()).slice(0, Number(values.count));
const copy = copyRepository();
const survivors = [];
for (const condition of sample) {
  const { file, line, text, value } = condition;
  const verdict = judge(condition);
  const shown = `${file}:${line} ${text} → ${value}`;
  if (verdict !== 'noticed') survivors.push(shown);
  console.log(`${verdict.padEnd(9)} ${shown}`);
}
const noticed = sample.length - survivors.length;
console.log(`\n${noticed} of ${sample.length} changed conditions are noticed.`);
for (const survivor of survivors) console.log(`Not noticed: ${survivor}`);
process.exitCode = noticed < sample.length * REQUIRED ? 1 : 0;

/** `noticed` or `survived`. */
function judge({ file, start, end, value }) {
  const path = join(copy, file);
  const original = readFileSync(path, 'utf8');
  try {
    // The condition stays, so that its names are still used, and its effects still happen.
    writeFileSync(path, `${original.slice(0, start)}((${original.slice(start, end)}), ${value})${original.slice(end)}`);
    const passes = (tests) => tests.length === 0 || runTests(copy, ['--project', 'fast', ...tests]);
    return buildTypes(copy) && passes(nearestTests([file])) && passes(LAWS) ? 'survived' : 'noticed';
  } finally {
    writeFileSync(path, original);
    buildTypes(copy);
  }
}

/** Every condition of `if` and `? :` that does not belong to a marked defence. */
function findConditions() {
  const { stdout } = spawnSync('git', ['ls-files', ...SOURCES], { cwd: root, encoding: 'utf8' });
  return stdout
    .trim()
    .split('\n')
    .flatMap((file) => {
      const source = readFileSync(join(root, file), 'utf8');
      const found = [];
      visit(parseSync(file, source, { lang: 'ts', sourceType: 'module' }).program, (node) => {
        if (node.type !== 'IfStatement' && node.type !== 'ConditionalExpression') return true;
        if (isMarked(source, node.start)) return false;
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

function isMarked(source, start) {
  return /\/\/ defence: [a-z0-9-]+\n\s*(?:\/\/[^\n]*\n\s*)*$/u.test(source.slice(0, start));
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
