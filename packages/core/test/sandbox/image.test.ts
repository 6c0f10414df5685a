import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildSandbox } from '#core/sandbox/image-build/build-image.js';
import { meterEngine } from '#core/sandbox/image-build/meter.js';
import { QuickJsPool } from '#core/sandbox/index.js';
import { loadArtefacts } from '#core/sandbox/worker/artefacts.js';
import type { Slot } from '#core/sandbox/quickjs/slot.js';
import { driveRun, returnedValue } from '#core/testing/index.js';
import { bundleGuest } from '../../build/bundle-guest.mjs';
import { openSlot } from './support/in-process-slot.js';

const engine = new URL('../../engine/', import.meta.url);
const artefacts = new URL('../../dist/sandbox/artefacts/', import.meta.url);

describe('the metered engine', () => {
  it('meters nearly every loop outside the interpreter and stays valid', async () => {
    const report = meterEngine(await readFile(createRequire(import.meta.url).resolve('quickjs-wasi/quickjs.wasm')));
    expect(report.loops).toBeGreaterThan(1_000);
    expect(report.meteredLoops / report.loops).toBeGreaterThan(0.95);
    expect(report.bulkOperations).toBeGreaterThan(100);
  });

  it('rejects truncated binaries, and data that is not WebAssembly', async () => {
    const engine = await readFile(createRequire(import.meta.url).resolve('quickjs-wasi/quickjs.wasm'));
    expect(() => meterEngine(Buffer.from('no wasm'))).toThrow(/WebAssembly/u);
    expect(() => meterEngine(engine.subarray(0, engine.length - 1000))).toThrow(/WebAssembly/u);
  });
});

describe('the image', () => {
  const folders: string[] = [];
  afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true }))));

  async function makeFolder() {
    const folder = await mkdtemp(join(tmpdir(), 'toolscript-image-'));
    folders.push(folder);
    return pathToFileURL(`${folder}/`);
  }

  async function build(from = engine) {
    const out = await makeFolder();
    const labels = await bundleGuest({ entry: '../labels/main.js' });
    return [await buildSandbox({ guest: await bundleGuest(), labels, engine: from, out }), await header(out, 'labels')];
  }

  const header = async (folder: URL, name: string) =>
    JSON.parse(await readFile(new URL(`${name}.json`, folder), 'utf8')) as unknown;

  it('is the same, byte for byte, every time it is built', async () => {
    const [one, two] = [await build(), await build()];
    expect(two).toEqual(one);
    expect(one).toEqual(await Promise.all(['execute', 'labels'].map((name) => header(artefacts, name))));
  });

  it.each<[string, (folder: URL) => Promise<void>]>([
    ['of another source', (folder) => change(folder, 'metered')],
    ['with another content than it says', (folder) => change(folder, 'sha256')],
    ['that somebody changed', (folder) => writeFile(new URL('engine.wasm', folder), 'no engine')],
  ])('is not built with an optimised engine %s', async (_name, spoil) => {
    const folder = await makeFolder();
    for (const file of ['engine.json', 'engine.wasm']) await cp(new URL(file, engine), new URL(file, folder));
    await spoil(folder);
    await expect(build(folder)).rejects.toThrow('npm run engine');
  });

  it('a recycled sandbox is the pristine one, whatever a script did to it', async () => {
    const artefacts = await loadArtefacts(128);
    const { slot, compile, start, read } = await openSlot();
    const pristine = Buffer.from(slotMemory(slot));
    const segment = start(
      compile(
        'globalThis.secret = "SECRET".repeat(20000); const list = []; for (let i = 0; i < 3000; i++) list.push({ i, text: "SECRET" + i }); return list.length',
      ),
    );
    expect(read(segment).end).toMatchObject({ type: 'returned', json: '3000' });
    expect(slotMemory(slot).includes('SECRET')).toBe(true);
    expect(slot.recycle()).toBe(true);
    const after = slotMemory(slot);
    expect(after.includes('SECRET')).toBe(false);
    // The stack is below the image. No code reads it before writing it.
    const base = artefacts.execute.header.start;
    expect(after.compare(pristine, base, pristine.length, base, after.length)).toBe(0);
  });

  function slotMemory(slot: Slot): Buffer {
    return Buffer.from(slot.inspectMemory());
  }
});

describe('the globals of a script', () => {
  let pool: QuickJsPool;
  beforeAll(() => (pool = new QuickJsPool({ size: 1 })));
  afterAll(() => pool.close());

  it('are the reviewed ones', async () => {
    const names = returnedValue(await driveRun(pool, 'return Object.getOwnPropertyNames(globalThis).sort()'));
    expect(names).toEqual(REVIEWED_GLOBALS.toSorted());
  });

  it('lead only to frozen intrinsics', async () => {
    const body = `
      const seen = new Set([globalThis, context, tools]); const open = [];
      const queue = [['async', Object.getPrototypeOf(async function () {})], ['gen', Object.getPrototypeOf(function* () {})], ['agen', Object.getPrototypeOf(async function* () {})], ['err', (() => { try { null.x } catch (e) { return Object.getPrototypeOf(e) } })()], ['oom', (() => { try { 'x'.repeat(2 ** 30) } catch (e) { return Object.getPrototypeOf(e) } })()]];
      for (const name of Object.getOwnPropertyNames(globalThis)) if (name !== 'globalThis' && name !== 'tools' && name !== 'context') queue.push([name, globalThis[name]]);
      for (const make of [() => [][Symbol.iterator](), () => new Map().entries(), () => new Set().values(), () => ''[Symbol.iterator](), () => 'a'.matchAll(/a/g), () => [].values().map((x) => x), () => Iterator.from({ next() { return {} } }), () => Object.getPrototypeOf((function* () {})()), () => Object.getPrototypeOf((async function* () {})())]) queue.push(['iterator', Object.getPrototypeOf(make())]);
      let visited = 0;
      while (queue.length > 0) {
        const [path, value] = queue.pop();
        if ((typeof value !== 'object' && typeof value !== 'function') || value === null || seen.has(value)) continue;
        seen.add(value); visited++;
        if (!Object.isFrozen(value)) open.push(path);
        for (const key of Reflect.ownKeys(value)) { const d = Reflect.getOwnPropertyDescriptor(value, key); for (const part of ['value', 'get', 'set']) if (part in d) queue.push([path + '.' + String(key), d[part]]); }
        queue.push([path + '.__proto__', Object.getPrototypeOf(value)]);
      }
      return { visited, open }`;
    const { visited, open } = returnedValue(await driveRun(pool, body)) as { visited: number; open: string[] };
    expect(visited).toBeGreaterThan(900);
    expect(open).toEqual([]);
  });

  it('have functions with the names of their keys, whatever the bundler calls them', async () => {
    const body = `
      const seen = new Set([tools, context]); const named = []; const queue = [globalThis];
      while (queue.length > 0) {
        const value = queue.pop();
        if ((typeof value !== 'object' && typeof value !== 'function') || value === null || seen.has(value)) continue;
        seen.add(value);
        for (const key of Reflect.ownKeys(value)) {
          const { value: held, get, set } = Reflect.getOwnPropertyDescriptor(value, key);
          // A method of a prototype is held by an accessor, so that objects can have an own property of its name.
          let method = held;
          try { if (set !== undefined) method = value[key]; } catch {}
          if (typeof method === 'function' && typeof key === 'string' && key !== 'constructor') named.push([key, method.name]);
          queue.push(method, get, set);
        }
        queue.push(Reflect.getPrototypeOf(value));
      }
      return named`;
    const named = returnedValue(await driveRun(pool, body)) as [string, string][];
    expect(named.length).toBeGreaterThan(400);
    const others = named.filter(([key, name]) => name !== key && name !== '');
    expect(Object.fromEntries(others)).toEqual({
      emit: 'text',
      keys: 'values',
      toGMTString: 'toUTCString',
      trimLeft: 'trimStart',
      trimRight: 'trimEnd',
    });
  });
});

const REVIEWED_GLOBALS = [
  'AggregateError',
  'ApprovalDeniedError',
  'ApprovalTimeoutError',
  'Array',
  'ArrayBuffer',
  'AsyncDisposableStack',
  'BigInt',
  'BigInt64Array',
  'BigUint64Array',
  'Boolean',
  'DOMException',
  'DataView',
  'Date',
  'DisposableStack',
  'Error',
  'EvalError',
  'FinalizationRegistry',
  'Float16Array',
  'Float32Array',
  'Float64Array',
  'Function',
  'Infinity',
  'Int16Array',
  'Int32Array',
  'Int8Array',
  'Intl',
  'Iterator',
  'JSON',
  'Map',
  'Math',
  'NaN',
  'Number',
  'Object',
  'Promise',
  'Proxy',
  'RangeError',
  'ReferenceError',
  'Reflect',
  'RegExp',
  'SerializationError',
  'Set',
  'String',
  'SuppressedError',
  'Symbol',
  'SyntaxError',
  'TextDecoder',
  'TextEncoder',
  'ToolBudgetExceededError',
  'ToolExecutionError',
  'ToolNotFoundError',
  'ToolValidationError',
  'TypeError',
  'URIError',
  'URL',
  'URLSearchParams',
  'Uint16Array',
  'Uint32Array',
  'Uint8Array',
  'Uint8ClampedArray',
  'WeakMap',
  'WeakRef',
  'WeakSet',
  'atob',
  'btoa',
  'catalog',
  'console',
  'context',
  'decodeURI',
  'decodeURIComponent',
  'emit',
  'encodeURI',
  'encodeURIComponent',
  'escape',
  'globalThis',
  'isFinite',
  'isNaN',
  'parseFloat',
  'parseInt',
  'performance',
  'queueMicrotask',
  'sleep',
  'setTimeout',
  'setInterval',
  'clearTimeout',
  'clearInterval',
  'structuredClone',
  'text',
  'tools',
  'undefined',
  'unescape',
  'AbortController',
  'AbortSignal',
  'Buffer',
  'Headers',
  'crypto',
];

/** Changes the value of a member of the provenance. */
async function change(folder: URL, member: string): Promise<void> {
  const file = new URL('engine.json', folder);
  const provenance = JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>;
  await writeFile(file, JSON.stringify({ ...provenance, [member]: '0'.repeat(64) }));
}
