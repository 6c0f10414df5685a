import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { ALL_INTRINSICS, Engine, INTRINSICS_WITHOUT_EVAL, IO_BYTES } from '../quickjs/driver.js';
import { limitMemory } from '../worker/artefacts.js';
import {
  captureContent,
  PROTOCOL_VERSION,
  type GuestEntries,
  type ImageHeader,
  type Layout,
} from '../quickjs/image.js';
import { WebAssemblyApi, type WasmModule } from '../quickjs/webassembly.js';
import { calibrateCallSites } from '../quickjs/call-sites.js';
import { calibratePromiseLayout } from '../quickjs/reactions.js';
import { meterEngine } from './meter.js';
import { markStores } from './store-marks.js';

/**
 * SHA-256 of the engine release that Toolscript supports. Raw exports change between releases, so the build accepts no
 * other release.
 */
const ENGINE_SHA256 = 'd4c9375f2b1ca4dc95f72c8aa2982a7a9951ac8011490d79c6582df732b4bbd9';

const STACK_BYTES = 524_288;

/**
 * Heap size at which the engine first looks for cycles. A search walks the whole image; most scripts end before a
 * search is worthwhile. The value must be less than the memory up to which an instance is reused.
 */
const FIRST_COLLECTION_BYTES = 3 << 20;

export interface SandboxParts {
  /** The guest's own code as one expression; see `build/bundle-guest.mjs`. */
  guest: string;
  /** The runtime of labels as one expression, for the image in which copies of scripts start. */
  labels?: string | undefined;
  /** Folder with the optimised metered engine and the record of its inputs; see `scripts/engine.mjs`. */
  engine: URL;
  /** Folder to write to. */
  out: URL;
}

/**
 * Writes `engine.wasm` (metered, optimised, and with marks of its changes) and the images `execute`, `compile` and
 * `labels` with their headers. The same input gives the same bytes: the images boot with a fixed clock and fixed random
 * numbers.
 */
export async function buildSandbox({ guest, labels, engine: engineFolder, out }: SandboxParts): Promise<ImageHeader> {
  // defence: changes-by-the-engine-are-marked
  const binary = markStores(await readOptimised(await meteredEngine(), engineFolder));
  const module = new WebAssemblyApi.Module(binary);
  const compiler = bootCompiler(module);
  const engineHash = bytesSha256(binary);
  await mkdir(out, { recursive: true });
  await writeFile(new URL('engine.wasm', out), binary);
  const writeGuest = async (name: string, runtime?: string) => {
    const boot = (other: WasmModule) => bootGuest(other, compiler, guest, runtime);
    const pages = boot(module).engine.raw.toolscript_pages.value;
    // Boots again with a memory that ends with the guest. With more memory, the allocations that zero all free blocks
    // would create new blocks.
    const { engine, entries } = boot(new WebAssemblyApi.Module(limitMemory(binary, pages, pages)));
    const layout = findLayout(engine, module, compiler);
    zeroFreeMemory(engine);
    return writeImage({ folder: out, name }, engine, engineHash, { entries, layout });
  };
  const header = await writeGuest('execute');
  await writeImage({ folder: out, name: 'compile' }, compiler, engineHash, {
    entries: emptyEntries,
    layout: { heapSize: 0, promise: undefined, callSite: undefined },
  });
  if (labels !== undefined) await writeGuest('labels', labels);
  return header;
}

/** The engine of quickjs-wasi with added counters; see `meter.ts`. */
export async function meteredEngine(): Promise<Uint8Array> {
  const original = await readFile(createRequire(import.meta.url).resolve('quickjs-wasi/quickjs.wasm'));
  if (bytesSha256(original) !== ENGINE_SHA256)
    throw new Error('quickjs.wasm is not the release that this build supports. Run: npm ci');
  const { binary, loops, meteredLoops } = meterEngine(original);
  if (meteredLoops < loops * 0.95)
    throw new Error(`only ${meteredLoops} of ${loops} loops of the engine are metered; adapt meter.ts to this engine`);
  return binary;
}

/**
 * Reads the optimised form of exactly this metered engine. The optimisation takes a long time, so its result is stored
 * with the record of its inputs.
 */
async function readOptimised(metered: Uint8Array, folder: URL): Promise<Uint8Array> {
  const provenance = JSON.parse(await readFile(new URL('engine.json', folder), 'utf8')) as {
    metered: string;
    sha256: string;
  };
  const binary = await readFile(new URL('engine.wasm', folder));
  if (provenance.metered !== bytesSha256(metered) || provenance.sha256 !== bytesSha256(binary))
    throw new Error('packages/core/engine was built from another engine. Run: npm run engine');
  return binary;
}

const quietHost = { clockMs: () => 1_700_000_000_000, interrupt: () => {}, rejection: () => {} };

const emptyEntries: GuestEntries = {
  begin: 0,
  start: 0,
  settle: 0,
  flush: 0,
  describeThrown: 0,
  promises: 0,
  startCell: 0,
  finishCell: 0,
};

/** Boots an engine that only compiles. */
function bootCompiler(module: WasmModule): Engine {
  const engine = new Engine(module, quietHost);
  engine.initialize({ intrinsics: ALL_INTRINSICS, maxStackBytes: STACK_BYTES });
  return engine;
}

/**
 * Boots an engine that cannot evaluate text and contains the guest's own code. With the runtime of labels, its scripts
 * are rewritten ones.
 */
function bootGuest(
  module: WasmModule,
  compiler: Engine,
  guest: string,
  labels?: string,
): { engine: Engine; entries: GuestEntries } {
  const engine = new Engine(module, quietHost);
  // defence: no-code-from-text
  engine.initialize({ intrinsics: INTRINSICS_WITHOUT_EVAL, maxStackBytes: STACK_BYTES });
  const evaluate = (text: string) => engine.evaluate(compiler.compile(text, 'toolscript', { keepLines: false }));
  const makeGuest = evaluate(guest);
  const bridge = engine.call(makeGuest, engine.hostFunction());
  engine.raw.qjs_free_value(makeGuest);
  const entry = (name: keyof GuestEntries) => engine.property(bridge, name);
  const entries: GuestEntries = {
    begin: entry('begin'),
    start: labels === undefined ? entry('start') : engine.call(evaluate(labels), entry('start')),
    settle: entry('settle'),
    flush: entry('flush'),
    describeThrown: entry('describeThrown'),
    promises: entry('promises'),
    startCell: entry('startCell'),
    finishCell: entry('finishCell'),
  };
  engine.runJobs(() => {});
  engine.raw.qjs_run_gc();
  engine.raw.qjs_set_gc_threshold(FIRST_COLLECTION_BYTES);
  return { engine, entries };
}

function findLayout(engine: Engine, module: WasmModule, compiler: Engine): Layout {
  const callSite = calibrateCallSites(module, compiler);
  return {
    heapSize: findHeapSize(engine),
    promise: calibratePromiseLayout(module, compiler),
    callSite: { ...callSite, currentFrame: engine.raw.qjs_get_runtime_ptr() + callSite.currentFrame },
  };
}

/** A size that is larger than any free block of a booted guest. */
const MAX_FREE_BYTES = 262_144;
/** All sizes of blocks are multiples of this unit. */
const BLOCK_UNIT = 8;

/**
 * Overwrites the memory that booting has freed, so that the image is smaller. Allocates every free block as a whole,
 * zeroes it and frees it: a block that was split would keep the headers of its parts.
 */
function zeroFreeMemory(engine: Engine): void {
  const { raw } = engine;
  const taken: number[] = [];
  for (let size = MAX_FREE_BYTES; size >= BLOCK_UNIT; size -= BLOCK_UNIT) {
    for (let block = raw.wasm_malloc(size); block !== 0; block = raw.wasm_malloc(size)) {
      taken.push(block);
      engine.memory().fill(0, block, block + size);
    }
  }
  for (const block of taken) raw.wasm_free(block);
  engine.memory().fill(0, engine.channel.io, engine.channel.io + IO_BYTES);
}

/**
 * Finds the address of the count of heap bytes in use. The engine's allocator stores its limit and, two words later,
 * this count. A marker, set as the limit, identifies the location; a text of known size verifies it.
 */
function findHeapSize(engine: Engine): number {
  const marker = 0x1357_9bdf;
  engine.raw.qjs_set_memory_limit(marker);
  const words = engine.words();
  const limit = words.indexOf(marker);
  engine.raw.qjs_set_memory_limit(0);
  if (limit < 0 || words.indexOf(marker, limit + 1) >= 0)
    throw new Error("the location of the engine's heap limit has changed; adapt build-image.ts to this engine");
  const used = limit + 2;
  const before = words[used]!;
  const text = engine.raw.qjs_new_string(engine.channel.io, 4096);
  const grown = words[used]! - before;
  engine.raw.qjs_free_value(text);
  if (grown < 4096 || grown > 16_384)
    throw new Error("the location of the engine's heap counter has changed; adapt build-image.ts to this engine");
  return used << 2;
}

async function writeImage(
  file: { folder: URL; name: string },
  engine: Engine,
  engineHash: string,
  { entries, layout }: Pick<ImageHeader, 'entries' | 'layout'>,
): Promise<ImageHeader> {
  const { folder, name } = file;
  const { start, content } = captureContent(engine);
  const header: ImageHeader = {
    protocol: PROTOCOL_VERSION,
    engine: engineHash,
    sha256: bytesSha256(content),
    pages: engine.raw.toolscript_pages.value,
    stackPointer: engine.raw.__stack_pointer.value,
    start,
    channel: engine.channel,
    entries,
    layout,
  };
  await writeFile(new URL(`${name}.image`, folder), content);
  await writeFile(new URL(`${name}.json`, folder), `${JSON.stringify(header, undefined, 2)}\n`);
  return header;
}

export function bytesSha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
