import crypto = require('node:crypto');
import fs = require('node:fs');
import path = require('node:path');
import v8 = require('node:v8');
import vm = require('node:vm');

/**
 * Starts the program: its files are CommonJS, and what V8 made of them is kept beside them, so that they are not
 * compiled anew each time. Half of a short command's time was that. Where it cannot be kept, or is not what was
 * kept, the files are compiled as usual. They hold no `import()`: such a script has none.
 */

/** Replaced by the build: whatever changes in the files changes it. */
const BUILD = '__BUILD__';

/** The last major release of Node whose V8 was looked at: one that did not know the flag would say so to everybody. */
const LAST_KNOWN_NODE = 24;

/*
 * V8 counts a turn of the engine's interpreter as all the code that it could have run through, and so begins to
 * optimise it at the first few instructions. That takes longer than most commands, on a processor that these need,
 * and a process that ends waits for it. With this it begins after some ten thousand; scripts that compute for long
 * take no longer. It comes first, because what V8 keeps of a file is good for the same flags only.
 */
if (Number.parseInt(process.versions.node, 10) <= LAST_KNOWN_NODE)
  v8.setFlagsFromString('--wasm-tiering-budget=1000000000');

type Loaded = { exports: unknown };
type Wrapper = (
  exports: unknown,
  require: (name: string) => unknown,
  module: Loaded,
  file: string,
  folder: string,
) => void;

/** V8's tag stands for its version, its flags and what the processor can do; after the flags were set. */
const cacheFolder = path.join(__dirname, 'cache', `${BUILD}-${v8.cachedDataVersionTag().toString(16)}-${process.arch}`);
const DIGEST_BYTES = 32;
const loaded = new Map<string, Loaded>();
/** Compiled without anything that was kept. */
const fresh = new Map<string, vm.Script>();

/** A file of the program by its name; anything else is Node's or a package's. */
function load(name: string): unknown {
  if (!name.startsWith('./')) return require(name);
  const known = loaded.get(name);
  if (known !== undefined) return known.exports;
  const module: Loaded = { exports: {} };
  loaded.set(name, module);
  const file = path.join(__dirname, name);
  const wrapper = compile(name, file).runInThisContext() as Wrapper;
  wrapper(module.exports, load, module, file, __dirname);
  return module.exports;
}

function compile(name: string, file: string): vm.Script {
  const source = fs.readFileSync(file, 'utf8');
  const cachedData = kept(name);
  const script = new vm.Script(`(function (exports, require, module, __filename, __dirname) {${source}\n})`, {
    filename: file,
    cachedData,
  });
  if (cachedData === undefined || script.cachedDataRejected === true) fresh.set(name, script);
  return script;
}

/** V8 trusts what it is given, so that a file with one wrong bit would end the process: its digest stands before it. */
function kept(name: string): Buffer | undefined {
  try {
    const file = fs.readFileSync(cacheFile(name));
    const data = file.subarray(DIGEST_BYTES);
    return digest(data).equals(file.subarray(0, DIGEST_BYTES)) ? data : undefined;
  } catch {
    return undefined;
  }
}

/** At the end, when it is known which functions are used. Whoever may not write here goes without. */
function keep(): void {
  if (fresh.size === 0) return;
  try {
    fs.mkdirSync(cacheFolder, { recursive: true });
  } catch {
    return;
  }
  for (const [name, script] of fresh) write(cacheFile(name), script.createCachedData());
}

function write(file: string, data: Buffer): void {
  const unfinished = `${file}.${process.pid}`;
  try {
    fs.writeFileSync(unfinished, Buffer.concat([digest(data), data]));
    fs.renameSync(unfinished, file);
  } catch {
    fs.rmSync(unfinished, { force: true });
  }
}

function cacheFile(name: string): string {
  return path.join(cacheFolder, `${name}.bin`);
}

function digest(data: Buffer): Buffer {
  return crypto.createHash('sha256').update(data).digest();
}

load.resolve = require.resolve;
process.on('exit', keep);
load('./main.cjs');
