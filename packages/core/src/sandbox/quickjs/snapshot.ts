import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { Engine } from './driver.js';
import type { Image } from './image.js';
import { WASM_PAGE } from './webassembly.js';

/**
 * The memory of a paused guest, as the difference from the image that it was started from. Image and difference
 * together are the complete guest. The stack is excluded, because between two segments it holds nothing live.
 *
 * Format: the number of pages of 4 KiB that differ, the heap's end and the pages' numbers, 32 bits each and
 * little-endian, then each page XORed with the image's. All these bytes are deflated (RFC 1951).
 */
export interface MemoryDelta {
  readonly bytes: Uint8Array;
  readonly pages: number;
}

const PAGE = 4096;
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

export function captureMemory(engine: Engine, image: Image): MemoryDelta {
  const memory = engine.memory();
  const heapEnd = engine.raw.toolscript_pages.value * WASM_PAGE;
  const numbers: number[] = [];
  const differences: Buffer[] = [];
  const pristine = pristinePages(image);
  for (let start = heapStart(image); start < heapEnd; start += PAGE) {
    const original = pristine(start);
    if (memory.compare(original, 0, PAGE, start, start + PAGE) === 0) continue;
    numbers.push(start / PAGE);
    differences.push(xor(memory.subarray(start, start + PAGE), original));
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

/**
 * Writes a captured memory into an instance that holds the pristine image. `maxBytes` limits the decompressed size of
 * the delta.
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
  const memory = engine.memory();
  const first = heapStart(image);
  const pristine = pristinePages(image);
  for (let index = 0; index < count; index++) {
    const start = plain.readUInt32LE((HEAD_WORDS + index) * 4) * PAGE;
    // defence: snapshot-pages-within-the-heap
    if (start < first || start >= heapPages * WASM_PAGE)
      throw new SnapshotError('the memory has pages outside its heap');
    const difference = plain.subarray(body + index * PAGE, body + (index + 1) * PAGE);
    memory.set(xor(difference, pristine(start)), start);
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

function heapStart({ header }: Image): number {
  return header.runs[0]?.[0] ?? 0;
}

/** The image's page at an address; zeros if the image has none. Call the function with ascending addresses. */
function pristinePages({ header, content }: Image): (address: number) => Uint8Array {
  const zero = new Uint8Array(PAGE);
  let run = 0;
  let offset = 0;
  return (address) => {
    for (; run < header.runs.length && address >= header.runs[run]![1]; run++)
      offset += header.runs[run]![1] - header.runs[run]![0];
    const [start] = header.runs[run] ?? [Number.POSITIVE_INFINITY];
    return address < start ? zero : content.subarray(offset + address - start, offset + address - start + PAGE);
  };
}

function xor(left: Uint8Array, right: Uint8Array): Buffer {
  const result = Buffer.allocUnsafe(PAGE);
  for (let index = 0; index < PAGE; index++) result[index] = left[index]! ^ right[index]!;
  return result;
}
