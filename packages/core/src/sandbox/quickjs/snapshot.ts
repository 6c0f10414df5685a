import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { PAGE } from './changed-pages.js';
import { IO_BYTES, type Engine } from './driver.js';
import { ZERO_PAGE, type Image } from './image.js';
import { WASM_PAGE } from './webassembly.js';

/**
 * The memory of a paused guest, as the difference from the image that it was started from. Image and difference
 * together are the complete guest. The stack is excluded, because between two segments it holds nothing live.
 *
 * Format: the number of pages of 4 KiB that differ, the heap's end and the pages' numbers, 32 bits each and
 * little-endian, then each page XORed with the image's. All these bytes are deflated (RFC 1951). The memory that the
 * script has freed is zero.
 */
export interface MemoryDelta {
  readonly bytes: Uint8Array;
  readonly pages: number;
}

const HEAD_WORDS = 2;
/** Higher levels reduce the size by a few percent and take 50 % more time. */
const DEFLATE_LEVEL = 3;

/** The memory of a script cannot be captured or restored; for example, it is damaged or belongs to another image. */
export class SnapshotError extends Error {
  override readonly name = 'SnapshotError';

  /** `problem`: a clause. `fix`: a sentence; the default is a fix for damaged data. */
  constructor(problem: string, fix = 'Restore the stored scripts from a backup.') {
    super(`${problem}, so the script cannot resume from its memory. ${fix}`);
  }
}

/** Finds the original of the page at an address. */
type OriginalPages = (address: number) => Uint8Array;

/**
 * Zeroes the memory that the script has freed, and captures the rest: as the difference from the image, or from `base`,
 * the memory that an earlier capture restored.
 */
export function captureMemory(engine: Engine, image: Image, base?: Uint8Array): MemoryDelta {
  zeroFreedMemory(engine);
  const memory = engine.memory();
  const heapEnd = engine.raw.toolscript_pages.value * WASM_PAGE;
  const numbers: number[] = [];
  const differences: Buffer[] = [];
  const findOriginal = base === undefined ? pagesOfImage(image) : pagesOfMemory(base);
  for (let { start } = image.header; start < heapEnd; start += PAGE) {
    const original = findOriginal(start);
    if (memory.compare(original, 0, PAGE, start, start + PAGE) === 0) continue;
    numbers.push(start / PAGE);
    differences.push(difference(memory.subarray(start, start + PAGE), original));
  }
  const head = Buffer.alloc((HEAD_WORDS + numbers.length) * 4);
  [numbers.length, engine.raw.toolscript_pages.value, ...numbers].forEach((word, index) =>
    head.writeUInt32LE(word, index * 4),
  );
  return {
    bytes: deflateRawSync(Buffer.concat([head, ...differences]), { level: DEFLATE_LEVEL }),
    pages: numbers.length,
  };
}

/** A copy of the guest's memory, as the base of a later capture. `into`: a memory of the same size that is overwritten. */
export function copyMemory(engine: Engine, into: Uint8Array = new Uint8Array(usedBytes(engine))): Uint8Array {
  into.set(engine.memory().subarray(0, into.length));
  return into;
}

/** The size of a copy of the guest's memory. */
export function usedBytes(engine: Engine): number {
  return engine.raw.toolscript_pages.value * WASM_PAGE;
}

/** Writes a copy of a guest's memory into an instance that holds the image. */
export function loadMemory(engine: Engine, image: Image, copy: Uint8Array): void {
  const heapPages = copy.length / WASM_PAGE;
  growTo(engine, heapPages);
  const { start } = image.header;
  engine.memoryToChange(start, copy.length - start).set(copy.subarray(start), start);
  engine.raw.toolscript_pages.value = heapPages;
}

/**
 * Writes a captured memory into an instance that holds the memory from which it differs. `maxBytes` limits the
 * decompressed size of the delta.
 */
export function restoreMemory(engine: Engine, image: Image, delta: Uint8Array, maxBytes: number): void {
  const plain = inflate(delta, maxBytes);
  if (plain.length < HEAD_WORDS * 4) throw new SnapshotError('the memory is truncated');
  const count = plain.readUInt32LE(0);
  const heapPages = plain.readUInt32LE(4);
  const body = (HEAD_WORDS + count) * 4;
  // defence: snapshot-length-fits-its-head
  if (plain.length !== body + count * PAGE) throw new SnapshotError('the memory is truncated');
  growTo(engine, heapPages);
  const words = engine.words();
  const { start: first } = image.header;
  for (let index = 0; index < count; index++) {
    const start = plain.readUInt32LE((HEAD_WORDS + index) * 4) * PAGE;
    // defence: snapshot-pages-within-the-heap
    if (start < first || start >= heapPages * WASM_PAGE)
      throw new SnapshotError('the memory has pages outside its heap');
    engine.memoryToChange(start, PAGE);
    addDifference(words, start >> 2, pageWords(plain.subarray(body + index * PAGE, body + (index + 1) * PAGE)));
  }
  engine.raw.toolscript_pages.value = heapPages;
}

function inflate(delta: Uint8Array, maxBytes: number): Buffer {
  try {
    // defence: snapshot-unfolds-within-bounds
    return inflateRawSync(delta, { maxOutputLength: maxBytes });
  } catch (error) {
    throw new SnapshotError(`the memory cannot be decompressed: ${String(error)}`);
  }
}

function growTo(engine: Engine, heapPages: number): void {
  const missing = heapPages - engine.memory().length / WASM_PAGE;
  if (missing <= 0) return;
  try {
    engine.raw.memory.grow(missing);
  } catch {
    throw new SnapshotError(
      'the memory is larger than the maximum of a sandbox',
      'Raise the option maxMemoryMb of QuickJsPool.',
    );
  }
}

/** The pages of the image; zeros after its content. */
function pagesOfImage({ header, content }: Image): OriginalPages {
  return (address) => {
    const from = address - header.start;
    return from < content.length ? content.subarray(from, from + PAGE) : ZERO_PAGE;
  };
}

function pagesOfMemory(memory: Uint8Array): OriginalPages {
  return (address) => (address < memory.length ? memory.subarray(address, address + PAGE) : ZERO_PAGE);
}

/** The pages XORed by words, which is faster than by bytes. */
function difference(left: Buffer, right: Uint8Array): Buffer {
  if (right === ZERO_PAGE) return left;
  const result = Uint32Array.from(pageWords(left));
  addDifference(result, 0, pageWords(right));
  return Buffer.from(result.buffer);
}

/** Changes words from the original to the page from which it differs, or back. */
function addDifference(words: Uint32Array, from: number, page: Uint32Array): void {
  for (let index = 0; index < page.length; index++) words[from + index]! ^= page[index]!;
}

function pageWords(page: Uint8Array): Uint32Array {
  const aligned = page.byteOffset % 4 === 0 ? page : Uint8Array.from(page);
  return new Uint32Array(aligned.buffer, aligned.byteOffset, PAGE / 4);
}

/** The words before the content of an allocator's block. The second has the block's size, and this bit if it is in use. */
const BLOCK_HEAD = 8;
const IN_USE = 2;
const FLAGS = 7;
/** Free blocks of at least this size hold six words of the allocator, smaller ones four. */
const LARGE_BLOCK = 256;

/**
 * Zeroes the content of free blocks, and the buffer for texts. Otherwise every capture would store all that the script
 * has ever had. The allocator is dlmalloc of wasi-libc, and the buffer for texts is its first block.
 */
function zeroFreedMemory(engine: Engine): void {
  const { io } = engine.channel;
  const words = engine.words();
  const end = engine.raw.toolscript_pages.value * WASM_PAGE;
  // defence: freed-memory-is-not-stored
  zero(engine, io, io + IO_BYTES);
  for (let block = io - BLOCK_HEAD; block + BLOCK_HEAD < end;) {
    const head = words[(block + 4) >> 2]!;
    const size = head & ~FLAGS;
    if (size < 2 * BLOCK_HEAD || block + size > end) break;
    if ((head & IN_USE) === 0) zero(engine, block + (size < LARGE_BLOCK ? 16 : 32), block + size);
    block += size;
  }
}

function zero(engine: Engine, from: number, to: number): void {
  engine.memoryToChange(from, to - from).fill(0, from, to);
}
