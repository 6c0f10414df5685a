// `npm run engine`: meters the engine, optimises it, and writes `packages/core/engine/engine.wasm` with its provenance.
// With `--check` it writes nothing, and fails unless the file equals its output byte for byte.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isInstalled, npmCall, prepareCode, root, run } from './prepare.mjs';

/** The features of the engine; `wasm-opt` treats every other feature as absent. */
const FEATURES = [
  'bulk-memory',
  'bulk-memory-opt',
  'sign-ext',
  'nontrapping-float-to-int',
  'mutable-globals',
  'multivalue',
];
/**
 * V8 does not inline functions of WebAssembly by itself. The optimiser inlines small functions, and those with one
 * caller: the code takes a sixth less time, and is a tenth larger. Inlining larger functions gains little more.
 */
const OPTIONS = [
  '--mvp-features',
  ...FEATURES.map((feature) => `--enable-${feature}`),
  '--inlining-optimizing',
  '-O3',
  '--always-inline-max-function-size=25',
  '--flexible-inline-max-function-size=70',
  '--one-caller-inline-max-function-size=60',
];

const folder = join(root, 'packages/core/engine');
const optimiser = join(folder, 'optimiser');
const isCheck = process.argv.includes('--check');

prepareCode();
const { meteredEngine, bytesSha256 } = await import('../packages/core/dist/sandbox/image-build/build-image.js');
const metered = await meteredEngine();
const optimised = optimise(metered);
const { version } = JSON.parse(readFileSync(join(optimiser, 'node_modules/binaryen/package.json'), 'utf8'));
const provenance = {
  metered: bytesSha256(metered),
  optimiser: `binaryen ${version}`,
  options: OPTIONS,
  sha256: bytesSha256(optimised),
};
const written = `${JSON.stringify(provenance, undefined, 2)}\n`;

if (isCheck) {
  const isSame =
    readFileSync(join(folder, 'engine.json'), 'utf8') === written &&
    optimised.equals(readFileSync(join(folder, 'engine.wasm')));
  console.log(
    isSame ? 'engine.wasm matches its source.' : 'engine.wasm does not match its source. Run: npm run engine',
  );
  process.exit(isSame ? 0 : 1);
}
writeFileSync(join(folder, 'engine.wasm'), optimised);
writeFileSync(join(folder, 'engine.json'), written);
console.log(`engine: ${metered.length} bytes metered, ${optimised.length} optimised`);

function optimise(binary) {
  if (!isInstalled(optimiser)) {
    console.error('installing the optimiser …');
    run(...npmCall(['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: optimiser }));
  }
  const work = mkdtempSync(join(tmpdir(), 'toolscript-engine-'));
  // The folder is also removed if the optimiser fails, which ends this process.
  process.once('exit', () => rmSync(work, { recursive: true, force: true }));
  const [from, to] = [join(work, 'metered.wasm'), join(work, 'optimised.wasm')];
  writeFileSync(from, binary);
  run(process.execPath, [join(optimiser, 'node_modules/binaryen/bin/wasm-opt'), ...OPTIONS, from, '-o', to]);
  return readFileSync(to);
}
