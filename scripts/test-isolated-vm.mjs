// `npm run test:isolated-vm [-- --short | --mutate | --bench]`: the tests of the runtime "isolated-vm", with the package in a
// temporary folder. It is no dependency of this repository. Its releases for Node.js 22 and later contain built files;
// for an older Node.js it would be compiled, so the tests then run on Node.js 22, which is installed there too.
// `--short`: without hostile scripts and comparisons with QuickJS. `--mutate`: removes its defences, as
// `npm run mutate:defences` does. `--bench`: compares it with QuickJS, in `bench/results/second-engine.json`.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { npmCall, prepare, root, toolPath } from './prepare.mjs';

/** The versions of the package, by the oldest major release of Node.js that each accepts. */
const RELEASES = [
  [24, 'isolated-vm@7.0.1'],
  [22, 'isolated-vm@6.2.0'],
];
const OTHER_NODE = 'node@22.23.3';
const FOLDER = 'packages/isolated-vm/test/';
const SHORT = ['conformance.test.ts', 'process.test.ts'];
const LONG = ['parity.test.ts', 'hostile.test.ts'];

const options = process.argv.slice(2);
const unknown = options.find((option) => !['--short', '--mutate', '--bench'].includes(option));
if (unknown !== undefined) {
  console.error(`Unknown option ${unknown}. Use --short, --mutate, --bench or none.`);
  process.exit(2);
}
prepare();
const folder = mkdtempSync(join(tmpdir(), 'toolscript-isolated-vm-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
process.exitCode = test(install());

/** Returns the program to run the tests with. */
function install() {
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
  const major = Number.parseInt(process.versions.node, 10);
  const release = RELEASES.find(([least]) => major >= least)?.[1];
  if (release !== undefined) add(['--ignore-scripts', release]);
  else add([OTHER_NODE]);
  const node = join(folder, 'node_modules/node/bin', process.platform === 'win32' ? 'node.exe' : 'node');
  if (release !== undefined) return process.execPath;
  if (!existsSync(node)) fail(`${OTHER_NODE} has no program for this machine. Use Node.js 22 or later.`);
  add(['--ignore-scripts', RELEASES.at(-1)[1]]);
  return node;
}

function add(packages) {
  const common = ['install', '--no-audit', '--no-fund', '--loglevel=error'];
  const { status } = spawnSync(...npmCall([...common, ...packages], { cwd: folder }));
  if (status !== 0) fail(`npm could not install ${packages.at(-1)}. Check the network and the registry.`);
}

function fail(message) {
  console.error(message);
  process.exit(1);
}

function test(node) {
  const files = [...SHORT, ...(options.includes('--short') ? [] : LONG)].map((file) => FOLDER + file);
  const command = options.includes('--mutate')
    ? [join(root, 'scripts/mutate-defences.mjs'), '--only-isolated-vm']
    : options.includes('--bench')
      ? [join(root, 'bench/main.mjs'), '--row', 'second-engine']
      : [toolPath('vitest'), 'run', ...files];
  const env = { ...process.env, TOOLSCRIPT_DEMAND_ISOLATED_VM: '1', TOOLSCRIPT_ISOLATED_VM: folder };
  const { status, error } = spawnSync(node, command, { cwd: root, stdio: 'inherit', env });
  if (error !== undefined) fail(`${node} could not be started: ${error.message}`);
  return status ?? 1;
}
