import crypto = require('node:crypto');
import fs = require('node:fs');
import path = require('node:path');
import v8 = require('node:v8');
import vm = require('node:vm');

/**
 * Starts the program. Its files are CommonJS, and the code that V8 compiled from them is cached beside them, because
 * compiling took half of a short command's time. A cache that is missing, damaged, made by another Node or that fails
 * in any other way is a miss: the files are compiled as usual. They contain no `import()`, which code compiled in this
 * way does not support.
 */

/** The build replaces this value. Every change in the files changes it. */
const BUILD = '__BUILD__';

/** The last major release of Node whose V8 was tested: a V8 without this flag would print a warning to every user. */
const LAST_KNOWN_NODE = 24;

/*
 * V8 counts each turn of the engine's interpreter loop as all the code in the loop, so it starts to optimise the
 * interpreter after a few instructions. That takes longer than most commands, occupies a processor that they need, and
 * delays the exit of the process. With this flag it starts after some ten thousand instructions; scripts that compute
 * for long take no longer. The flag is set first, because the code that V8 caches is valid only for the same flags.
 */
if (Number.parseInt(process.versions.node, 10) <= LAST_KNOWN_NODE)
  v8.setFlagsFromString('--wasm-tiering-budget=1000000000');

type LoadedModule = { exports: unknown };
type Wrapper = (
  exports: unknown,
  require: (name: string) => unknown,
  module: LoadedModule,
  file: string,
  folder: string,
) => void;

const cacheKey = keyOfCache();
const cacheFolder = path.join(__dirname, 'cache', cacheKey);
const DIGEST_BYTES = 32;
const loadedModules = new Map<string, LoadedModule>();
/** The scripts that were compiled without the cache, by name. */
const fresh = new Map<string, vm.Script>();
let usesCache = true;

/**
 * V8's tag stands for its version, its flags and the features of the processor, but not for the build of Node: compiled
 * code refers to objects of Node's own startup snapshot, and two patch releases with one V8 version have different
 * ones. So do two builds of one release, which differ in size. Called after the flags were set.
 */
function keyOfCache(): string {
  const parts = [BUILD, v8.cachedDataVersionTag().toString(16), process.arch, sizeOfNode().toString(16)];
  // defence: code-cache-per-node
  parts.push(process.version);
  return parts.join('-');
}

function sizeOfNode(): number {
  try {
    return fs.statSync(process.execPath).size;
  } catch {
    return 0;
  }
}

/** Loads a file of the program by its name. Any other name is a module of Node or of a package. */
function load(name: string): unknown {
  if (!name.startsWith('./')) return require(name);
  const known = loadedModules.get(name);
  if (known !== undefined) return known.exports;
  const module: LoadedModule = { exports: {} };
  loadedModules.set(name, module);
  const cachedData = readCache(name);
  try {
    run(name, module, cachedData);
  } catch (error) {
    if (cachedData === undefined) throw error;
    deleteCache();
    module.exports = {};
    // If the file itself is at fault, it fails again in the same way.
    // defence: failed-cache-is-a-miss
    run(name, module, undefined);
  }
  return module.exports;
}

function run(name: string, module: LoadedModule, cachedData: Buffer | undefined): void {
  const file = path.join(__dirname, name);
  const wrapper = compile(name, file, cachedData).runInThisContext() as Wrapper;
  wrapper(module.exports, load, module, file, __dirname);
}

function compile(name: string, file: string, cachedData: Buffer | undefined): vm.Script {
  const source = fs.readFileSync(file, 'utf8');
  const script = new vm.Script(`(function (exports, require, module, __filename, __dirname) {${source}\n})`, {
    filename: file,
    cachedData,
  });
  if (cachedData === undefined || script.cachedDataRejected === true) fresh.set(name, script);
  return script;
}

/**
 * Reads a file of the cache. V8 trusts the data that it is given: one wrong bit would end the process, and code of
 * another build would run as this one's. A digest of the data, the key and the file's name stands before the data.
 */
function readCache(name: string): Buffer | undefined {
  if (!usesCache) return undefined;
  try {
    const file = fs.readFileSync(cacheFile(name));
    const data = file.subarray(DIGEST_BYTES);
    // defence: code-cache-digest
    return digest(name, data).equals(file.subarray(0, DIGEST_BYTES)) ? data : undefined;
  } catch {
    return undefined;
  }
}

function deleteCache(): void {
  usesCache = false;
  deleteQuietly(cacheFolder);
}

/**
 * Writes the cache when the process ends, because V8 then knows which functions are used. Without write permission,
 * there is no cache.
 */
function writeCache(): void {
  if (fresh.size === 0) return;
  try {
    fs.mkdirSync(cacheFolder, { recursive: true });
  } catch {
    return;
  }
  for (const [name, script] of fresh) write(name, script);
}

function write(name: string, script: vm.Script): void {
  const file = cacheFile(name);
  const unfinished = `${file}.${process.pid}`;
  try {
    const data = script.createCachedData();
    fs.writeFileSync(unfinished, Buffer.concat([digest(name, data), data]));
    fs.renameSync(unfinished, file);
  } catch {
    deleteQuietly(unfinished);
  }
}

/** A leftover file does no harm: the cache only makes the start faster. */
function deleteQuietly(path: string): void {
  try {
    fs.rmSync(path, { recursive: true, force: true });
  } catch {}
}

function cacheFile(name: string): string {
  return path.join(cacheFolder, `${name}.bin`);
}

function digest(name: string, data: Buffer): Buffer {
  return crypto.createHash('sha256').update(`${cacheKey}\n${name}\n`).update(data).digest();
}

load.resolve = require.resolve;
process.on('exit', writeCache);
load('./main.cjs');
