// Finds the tests that a change concerns: those that are the fewest imports away from the changed files.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { parseSync } from 'oxc-parser';
import { root } from './prepare.mjs';

const MAX_TESTS = 12;
const TEST = /\.test\.ts$/u;
const SLOW_TEST = /\.slow\.test\.ts$/u;

/**
 * The paths of at most 12 test files, relative to the root. A changed test counts itself, slow tests only then. The
 * tests of a file that nothing imports are those of its folder.
 *
 * @param {readonly string[]} changed
 * @returns {string[]}
 */
export function nearestTests(changed) {
  const files = sourceFiles();
  const importers = readImporters(files);
  const tests = new Set(changed.filter((file) => TEST.test(file)));
  for (const file of changed) if (!TEST.test(file)) for (const test of testsOf(file, importers, files)) tests.add(test);
  return [...tests].slice(0, MAX_TESTS);
}

function testsOf(file, importers, files) {
  const seen = new Set([file]);
  for (let ring = [file]; ring.length > 0;) {
    ring = [...new Set(ring.flatMap((one) => importers.get(one) ?? []))].filter((one) => !seen.has(one));
    for (const one of ring) seen.add(one);
    const tests = ring.filter(isFastTest);
    if (tests.length > 0) return tests;
  }
  const [folder] = /^packages\/[^/]+\/src\/(?:[^/]+\/)?/u.exec(file) ?? [];
  return folder === undefined
    ? []
    : files.filter((one) => one.startsWith(folder.replace('/src/', '/test/')) && isFastTest(one));
}

function isFastTest(file) {
  return TEST.test(file) && !SLOW_TEST.test(file);
}

function sourceFiles() {
  const args = ['ls-files', '--cached', '--others', '--exclude-standard', 'packages/*/src/*', 'packages/*/test/*'];
  const { stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  return stdout.split('\n').filter((file) => /\.tsx?$/u.test(file) && existsSync(join(root, file)));
}

/** The importers of each source file and of each file beside the tests. */
function readImporters(files) {
  const importers = new Map();
  for (const file of files)
    for (const imported of importsIn(file)) importers.set(imported, [...(importers.get(imported) ?? []), file]);
  return importers;
}

function importsIn(file) {
  const { module } = parseSync(file, readFileSync(join(root, file), 'utf8'));
  const exported = module.staticExports.flatMap(({ entries }) => entries.map(({ moduleRequest }) => moduleRequest));
  return [...module.staticImports.map(({ moduleRequest }) => moduleRequest), ...exported]
    .map((request) => request && sourceOf(request.value, file))
    .filter((path) => path !== undefined && path !== null);
}

/** The source file behind a specifier; undefined if it is none of this repository. */
function sourceOf(specifier, file) {
  const [, name, rest] = /^#([a-z-]+)\/(.*)$/u.exec(specifier) ?? [];
  if (name !== undefined) return asSource(`packages/${name}/src/${rest}`);
  if (specifier.startsWith('.')) return asSource(relative(root, resolve(root, dirname(file), specifier)));
  const [, owner, subpath] = /^@toolscript\/([a-z-]+)(\/.*)?$/u.exec(specifier) ?? [];
  if (owner === undefined) return undefined;
  const { exports } = JSON.parse(readFileSync(join(root, 'packages', owner, 'package.json'), 'utf8'));
  const target = exports[`.${subpath ?? ''}`];
  const path = target?.default ?? target;
  return typeof path === 'string' ? asSource(join('packages', owner, path.replace('/dist/', '/src/'))) : undefined;
}

function asSource(path) {
  return [path.replace(/\.js$/u, '.ts'), path.replace(/\.js$/u, '.tsx'), path].find((one) =>
    existsSync(join(root, one)),
  );
}
