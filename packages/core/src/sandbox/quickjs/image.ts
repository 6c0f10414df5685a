import type { Channel, Engine, EngineValue } from './driver.js';
import { WASM_PAGE } from './webassembly.js';

/**
 * A booted, locked-down guest as bytes: the pages of linear memory that are not zero, and the stack pointer. An
 * instance of the same engine that loads the image becomes a bit-by-bit identical guest.
 */
export interface Image {
  readonly header: ImageHeader;
  /** The content of `header.runs`, in order. */
  readonly content: Uint8Array;
}

export interface ImageHeader {
  /** Version of the messages between host and guest. */
  readonly protocol: number;
  /** SHA-256 of the engine that wrote the image, hex. */
  readonly engine: string;
  /** SHA-256 of the content, hex. */
  readonly sha256: string;
  /** End of the heap, in pages. */
  readonly pages: number;
  readonly stackPointer: number;
  /** Start and end address of each run of pages with data. All other memory above the stack is zero. */
  readonly runs: readonly (readonly [number, number])[];
  readonly channel: Channel;
  readonly entries: GuestEntries;
  readonly layout: Layout;
}

/** The bridge's functions and its array of promises, inside the guest. */
export interface GuestEntries {
  begin: EngineValue;
  start: EngineValue;
  settle: EngineValue;
  flush: EngineValue;
  describeThrown: EngineValue;
  promises: EngineValue;
  startCell: EngineValue;
  finishCell: EngineValue;
}

/** Locations of engine data that the host reads directly, measured when the image is built. */
export interface Layout {
  /** Address of the count of heap bytes in use. */
  readonly heapSize: number;
  /** Class ids that identify the resolving functions of promises; see `reactions.ts`. */
  readonly promise: PromiseLayout | undefined;
  /** See `call-sites.ts`. */
  readonly callSite: CallSiteLayout | undefined;
}

export interface CallSiteLayout {
  /** Address of the pointer to the innermost frame. */
  readonly currentFrame: number;
  /** Word offsets within a frame: its function, and the next instruction. */
  readonly callee: number;
  readonly instruction: number;
  /** Word offset in a function's code of the word that is 0 if the code was compiled without lines. */
  readonly lines: number;
  /** Word offset within a function's code of the address of its instructions. */
  readonly instructions: number;
  /** Class ids of functions whose payload is code. */
  readonly codeClasses: readonly number[];
}

export interface PromiseLayout {
  /** Class ids of the resolving functions that `Promise.race` and similar functions attach. */
  readonly resolveClass: number;
  readonly rejectClass: number;
}

export const PROTOCOL_VERSION = 1;
const PAGE = 4096;

/** Finds the runs of pages above the stack that contain data. */
export function captureRuns(engine: Engine): { runs: [number, number][]; content: Buffer } {
  const memory = engine.memory();
  const zero = Buffer.alloc(PAGE);
  const runs: [number, number][] = [];
  for (let start = stackTop(engine); start < memory.length; start += PAGE) {
    if (memory.compare(zero, 0, PAGE, start, start + PAGE) === 0) continue;
    const last = runs.at(-1);
    if (last !== undefined && last[1] === start) last[1] = start + PAGE;
    else runs.push([start, start + PAGE]);
  }
  return { runs, content: Buffer.concat(runs.map(([start, end]) => memory.subarray(start, end))) };
}

/**
 * The end of the stack, which lies below data and heap in this engine. A fresh instance's stack pointer has this
 * address.
 */
function stackTop(engine: Engine): number {
  return Math.ceil(engine.raw.__stack_pointer.value / WASM_PAGE) * WASM_PAGE;
}

/** Preallocated memory after the heap's end: a script that stays within it never grows memory. */
export const HEADROOM_PAGES = 64;

/**
 * Loads the pristine guest into an instance, and zeroes all other memory above the stack that a script can have
 * touched. The instance must have been created with memory for the image and the headroom.
 */
export function loadImage(engine: Engine, image: Image): void {
  const { header, content } = image;
  const touched = engine.raw.toolscript_pages.value * WASM_PAGE;
  engine.channel = header.channel;
  const memory = engine.memory();
  let offset = 0;
  let zeroFrom = header.runs[0]?.[0] ?? 0;
  for (const [start, end] of header.runs) {
    // defence: gaps-are-zeroed
    if (start > zeroFrom) memory.fill(0, zeroFrom, start);
    memory.set(content.subarray(offset, offset + end - start), start);
    offset += end - start;
    zeroFrom = end;
  }
  // defence: heap-is-zeroed
  if (touched > zeroFrom) memory.fill(0, zeroFrom, touched);
  engine.raw.toolscript_pages.value = header.pages;
  engine.raw.__stack_pointer.value = header.stackPointer;
}
