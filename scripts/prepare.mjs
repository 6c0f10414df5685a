// The prerequisites of every other script: installs dependencies and builds packages, unless they are up to date.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
/** The build writes this file when it ends. */
const STAMP = 'packages/core/dist/.built';
const V8_GUEST = 'packages/isolated-vm/dist/guest.js';
const TYPE_LIBRARY = 'packages/core/dist/script/check/type-library/guest.lib.d.ts';

/** Runs a program with the terminal's own streams; a failure ends this process with the same status. */
export function run(command, args, options = {}) {
  const result = spawnSync(command, args, { cwd: root, stdio: 'inherit', ...options });
  if (result.error !== undefined) {
    console.error(`${command} could not be started: ${result.error.message}. Install it, or correct PATH.`);
    process.exit(1);
  }
  if (result.status !== 0) process.exit(result.status ?? 1);
}

/** The command that starts npm, preferably the npm that runs this script. The result suits `run` and `spawnSync`. */
export function npmCall(args, options = {}) {
  const { npm_execpath: script } = process.env;
  const common = { cwd: root, stdio: ['ignore', 'ignore', 'inherit'], ...options };
  if (script !== undefined) return [process.execPath, [script, ...args], common];
  const shell = process.platform === 'win32';
  return [shell ? 'npm.cmd' : 'npm', args, { ...common, shell }];
}

/** True if everything that the folder's own lockfile names is installed in the locked version. */
export function isInstalled(folder) {
  const { packages } = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8'));
  return Object.entries(packages).every(([path, { version, optional }]) => {
    const manifest = join(folder, path, 'package.json');
    if (path === '' || optional === true) return true;
    return existsSync(manifest) && JSON.parse(readFileSync(manifest, 'utf8')).version === version;
  });
}

/** Runs a program of this repository's own dependencies. */
export function runTool(name, args, options) {
  run(process.execPath, [toolPath(name), ...args], options);
}

export function toolPath(name) {
  const manifest = JSON.parse(readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8'));
  const bin = typeof manifest.bin === 'string' ? manifest.bin : (manifest.bin[name] ?? Object.values(manifest.bin)[0]);
  return join(root, 'node_modules', name, bin);
}

/** Installs dependencies if they are missing or older than the lockfile, and builds what has changed. */
export function prepare({ quiet = true } = {}) {
  checkNode();
  install();
  build({ quiet });
}

/** Builds only the compiled code, which the rest of the build needs. */
export function prepareCode() {
  checkNode();
  install();
  runTool('typescript', ['-b']);
}

export function build({ quiet = false } = {}) {
  const image = join(root, 'packages/core/dist/sandbox/artefacts/execute.json');
  const folders = [
    'core/src',
    'core/build',
    'core/engine',
    'isolated-vm/src',
    'isolated-vm/build',
    'tools/src',
    'mcp/src',
    'service/src',
    'server/src',
    'client/src',
    'web/src',
    'web/public',
    'cli/src',
    'cli/build',
  ];
  const sources = folders.map((folder) => newest(join(root, 'packages', folder)));
  if (Math.max(...sources) < builtAt() && !typeLibraryIsStale(image)) return;
  if (quiet) console.error('building …');
  runTool('typescript', ['-b']);
  const output = quiet ? { stdio: ['ignore', 'ignore', 'inherit'] } : {};
  const runBuild = (script) => run(process.execPath, [join(root, script)], output);
  const sandbox = ['src/sandbox', 'build', 'engine'].map((folder) => newest(join(root, 'packages/core', folder)));
  if (Math.max(...sandbox) > modified(image)) {
    runBuild('packages/core/build/build-sandbox.mjs');
  }
  const guests = ['core/src/sandbox/guest', 'core/build', 'isolated-vm/src/guest', 'isolated-vm/build'];
  if (Math.max(...guests.map((folder) => newest(join(root, 'packages', folder)))) > modified(join(root, V8_GUEST)))
    runBuild('packages/isolated-vm/build/build-guest.mjs');
  if (typeLibraryIsStale(image)) runBuild('packages/core/build/build-type-library.mjs');
  run(process.execPath, [toolPath('vite'), 'build', '--logLevel', 'error'], {
    cwd: join(root, 'packages/web'),
    ...output,
  });
  runBuild('packages/cli/build/bundle.mjs');
  writeFileSync(join(root, STAMP), '');
}

/**
 * Whether the type checker's library is stale. It depends on its own sources, the globals of the sandbox, and the
 * compiler's declarations.
 */
function typeLibraryIsStale(image) {
  const sources = newest(join(root, 'packages/core/src/script/check/type-library'));
  const compiler = modified(join(root, 'node_modules/typescript/package.json'));
  return Math.max(sources, modified(image), compiler) > modified(join(root, TYPE_LIBRARY));
}

function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return;
  console.error(
    `Toolscript needs Node.js 20.19 or newer; this is ${process.versions.node}. Get it from https://nodejs.org.`,
  );
  process.exit(1);
}

function install() {
  const installed = modified(join(root, 'node_modules/.package-lock.json'));
  if (installed >= modified(join(root, 'package-lock.json')) && existsSync(join(root, 'node_modules/typescript')))
    return;
  console.error('installing dependencies …');
  run(...npmCall(['ci', '--no-audit', '--no-fund', '--loglevel=error']));
}

/**
 * The time of the last complete build; 0 if a part is missing. The compiler does not write unchanged files, so their
 * times are older.
 */
function builtAt() {
  const parts = [
    STAMP,
    'packages/cli/bundle/start.cjs',
    'packages/tools/dist/index.js',
    'packages/mcp/dist/index.js',
    'packages/service/dist/index.js',
    'packages/server/dist/index.js',
    'packages/client/dist/index.js',
    'packages/web/dist/index.html',
    'packages/cli/page/index.html',
    'packages/core/dist/index.js',
    'packages/isolated-vm/dist/index.js',
    V8_GUEST,
  ];
  return Math.min(...parts.map((part) => modified(join(root, part)))) === 0 ? 0 : modified(join(root, STAMP));
}

function newest(folder) {
  return Math.max(0, ...readdirSync(folder, { recursive: true }).map((file) => modified(join(folder, file))));
}

function modified(path) {
  return existsSync(path) ? statSync(path).mtimeMs : 0;
}
