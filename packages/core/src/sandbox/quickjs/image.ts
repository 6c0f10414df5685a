import { PAGE, undoChanges } from './changed-pages.js';
import type { Channel, Engine, EngineValue } from './driver.js';
import { WASM_PAGE } from './webassembly.js';

/**
 * A booted, locked-down guest as bytes: linear memory above the stack, and the stack pointer. An instance of the same
 * engine that loads the image becomes a bit-by-bit identical guest.
 */
export interface Image {
  readonly header: ImageHeader;
  /** The memory from `header.start`. All that follows is zero. */
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
  /** The address of the content's first byte; the stack is below. */
  readonly start: number;
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
export const ZERO_PAGE = new Uint8Array(PAGE);

/** The memory above the stack, up to its last page with data. */
export function captureContent(engine: Engine): { start: number; content: Buffer } {
  const memory = engine.memory();
  const start = stackTop(engine);
  let end = memory.length;
  while (end > start && memory.compare(ZERO_PAGE, 0, PAGE, end - PAGE, end) === 0) end -= PAGE;
  return { start, content: Buffer.from(memory.subarray(start, end)) };
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
 * Loads the pristine guest into a new instance. The instance must have been created with memory for the image and the
 * headroom.
 */
export function loadImage(engine: Engine, { header, content }: Image): void {
  engine.channel = header.channel;
  engine.memory().set(content, header.start);
  engine.raw.toolscript_pages.value = header.pages;
  engine.raw.__stack_pointer.value = header.stackPointer;
}

/**
 * Makes a used instance the pristine guest again, at a cost that depends on what was changed. Returns false if the
 * instance must be dropped.
 */
export function restoreImage(engine: Engine, { header, content }: Image): boolean {
  const isRestored = undoChanges(engine.memory(), engine.words(), header.start, content);
  engine.raw.toolscript_pages.value = header.pages;
  engine.raw.__stack_pointer.value = header.stackPointer;
  return isRestored;
}
