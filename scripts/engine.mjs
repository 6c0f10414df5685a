// `npm run engine`: meters the engine, optimises it, and writes `packages/core/engine/engine.wasm` with its
// provenance. With `--check` nothing is written: it fails where the file is not, byte for byte, what this makes.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepareCode, root } from './prepare.mjs';

/** What the engine is built with; `wasm-opt` takes every feature as absent that is not named. */
const FEATURES = [
  'bulk-memory',
  'bulk-memory-opt',
  'sign-ext',
  'nontrapping-float-to-int',
  'mutable-globals',
  'multivalue',
];
/**
 * V8 does not put one function of WebAssembly into another by itself. Small ones, and those that are called from
 * one place, are put into their callers: a sixth less time, for a tenth more code. Larger ones gain little more.
 */
const OPTIONS = [
  '--mvp-features',
  ...FEATURES.map((feature) => `--enable-${feature}`),
  '--inlining-optimizing',
  '-O3',
  '--always-inline-max-function-size=20',
  '--flexible-inline-max-function-size=20',
  '--one-caller-inline-max-function-size=60',
];

const folder = join(root, 'packages/core/engine');
const optimiser = join(folder, 'optimiser');
const isCheck = process.argv.includes('--check');

prepareCode();
const { meterEngine } = await import('../packages/core/dist/sandbox/image-build/meter.js');
const original = readFileSync(
  createRequire(join(root, 'packages/core/package.json')).resolve('quickjs-wasi/quickjs.wasm'),
);
const metered = meterEngine(original).binary;
const optimised = optimise(metered);
const { version } = JSON.parse(readFileSync(join(optimiser, 'node_modules/binaryen/package.json'), 'utf8'));
const provenance = {
  metered: sha256(metered),
  optimiser: `binaryen ${version}`,
  options: OPTIONS,
  sha256: sha256(optimised),
};
const written = `${JSON.stringify(provenance, undefined, 2)}\n`;

if (isCheck) {
  const isSame =
    readFileSync(join(folder, 'engine.json'), 'utf8') === written &&
    optimised.equals(readFileSync(join(folder, 'engine.wasm')));
  console.log(
    isSame ? 'The engine is what its source makes.' : 'The engine is not what its source makes. Run: npm run engine',
  );
  process.exit(isSame ? 0 : 1);
}
writeFileSync(join(folder, 'engine.wasm'), optimised);
writeFileSync(join(folder, 'engine.json'), written);
console.log(`engine: ${metered.length} bytes metered, ${optimised.length} optimised`);

function optimise(binary) {
  if (!existsSync(join(optimiser, 'node_modules/binaryen'))) {
    console.error('installing the optimiser …');
    run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], optimiser);
  }
  const work = mkdtempSync(join(tmpdir(), 'toolscript-engine-'));
  const [from, to] = [join(work, 'metered.wasm'), join(work, 'optimised.wasm')];
  try {
    writeFileSync(from, binary);
    run(process.execPath, [join(optimiser, 'node_modules/binaryen/bin/wasm-opt'), ...OPTIONS, from, '-o', to], work);
    return readFileSync(to);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function run(command, args, cwd) {
  const { status } = spawnSync(command, args, { cwd, stdio: ['ignore', 'inherit', 'inherit'] });
  if (status !== 0) throw new Error(`${command} ${args[0]} failed`);
}

function sha256(bytes) {
  return createHash('sha256').update(bytes).digest('hex');
}
