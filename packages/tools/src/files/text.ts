import { isUtf8 } from 'node:buffer';
import type { FileHandle } from 'node:fs/promises';
import { failure, failureReason, throwIfAborted } from '../failure.js';
import type { WorkSlices } from '../work-slices.js';
import { ioFailure, openFile, using } from './open-verified.js';
import { quotePath } from './path-rules.js';
import type { Workspace, WorkspacePath } from './workspace.js';

/** Maximum size of a file. The reported size counts, so that sparse files are rejected too. */
const MAX_FILE_BYTES = 10 * 1024 * 1024;

const BINARY_PROBE_BYTES = 8 * 1024;
const READ_CHUNK_BYTES = 256 * 1024;
/**
 * Maximum number of reads that return fewer bytes than requested. A file that keeps changing causes more such reads.
 */
const MAX_SHORT_READS = 16;

export interface TextFile {
  readonly lines: TextLines;
  /** Whether the text contains U+FFFD in place of bytes that are not UTF-8. */
  readonly lossy: boolean;
  readonly realPath: string;
}

/** Reads a text file. Rejects binary, too large and special files. Drops a byte order mark. */
export async function readText(workspace: Workspace, path: WorkspacePath, slices: WorkSlices): Promise<TextFile> {
  const { bytes, realPath } = await using(openFile(workspace, path), async (file) => ({
    bytes: await readAll(file.handle, file.stat.size, path, slices.signal),
    realPath: file.realPath,
  }));
  checkText(bytes, path);
  return { lines: await TextLines.of(bytes, slices), lossy: !isUtf8(bytes), realPath };
}

/**
 * Reads a verified regular file of at most `MAX_FILE_BYTES`: the bytes that the file had when it was opened. Ignores
 * data that another program appends meanwhile.
 */
export async function readAll(
  handle: Pick<FileHandle, 'read'>,
  size: number,
  path: WorkspacePath,
  signal?: AbortSignal,
): Promise<Buffer> {
  checkSize(size, path);
  const bytes = Buffer.allocUnsafe(size);
  let total = 0;
  let reads = 0;
  try {
    while (total < size) {
      throwIfAborted(signal);
      reads += 1;
      // defence: read-plan
      if (reads > size / READ_CHUNK_BYTES + MAX_SHORT_READS) throw keepsChanging(path);
      const wanted = Math.min(READ_CHUNK_BYTES, size - total);
      const { bytesRead } = await handle.read(bytes, total, wanted, total);
      if (bytesRead === 0) break;
      total += bytesRead;
    }
    return bytes.subarray(0, total);
  } catch (error) {
    throw failureReason(error) ? error : ioFailure(path, error);
  }
}

/** Rejects bytes that are UTF-16 or binary data. */
export function checkText(bytes: Buffer, path: WorkspacePath): void {
  if ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)) {
    throw failure('binary', `${quotePath(path.given)} is UTF-16 text. Convert it to UTF-8 first.`, {
      path: path.given,
    });
  }
  if (bytes.subarray(0, BINARY_PROBE_BYTES).includes(0)) {
    throw failure(
      'binary',
      `${quotePath(path.given)} is a binary file, and this tool reads only text. Use a program for its format, or viewImage for an image.`,
      { path: path.given },
    );
  }
}

/** The lines without their line endings (LF or CRLF). A final line ending does not start another line. */
export function splitLines(text: string): string[] {
  if (text.length === 0) return [];
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines.map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line));
}

/** Rejects text that UTF-8 cannot represent. */
export function checkEncodable(text: string, what: string): void {
  if (!isWellFormed(text))
    throw failure(
      'not_text',
      `${what} contains half a character (a lone surrogate), which a file cannot store. Remove it.`,
    );
}

function keepsChanging(path: WorkspacePath): Error {
  return failure('changed', `${quotePath(path.given)} keeps changing while it is read. Try again later.`, {
    path: path.given,
  });
}

function checkSize(bytes: number, path: WorkspacePath): void {
  // defence: file-size-cap
  if (bytes <= MAX_FILE_BYTES) return;
  throw failure(
    'too_large',
    `${quotePath(path.given)} is larger than ${MAX_FILE_BYTES / 1024 / 1024} MB, so it is not read. Search it with grepFiles for the part you need.`,
    {
      path: path.given,
      bytes,
    },
  );
}

/** Calls `String.prototype.isWellFormed`, which the standard library of this language version does not declare. */
function isWellFormed(text: string): boolean {
  return (text as unknown as { isWellFormed(): boolean }).isWellFormed();
}

/** The number of bytes of the text as a JSON string, with quotes and escapes. */
export function jsonBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text));
}

const LINE_FEED = 10;
const RETURN = 13;
const MARK = Buffer.from('\uFEFF');

/**
 * The lines of a text, without line endings (LF or CRLF) and byte order mark. A final line ending does not start
 * another line. Each line is decoded on demand, because a file may have millions of empty lines.
 */
export class TextLines {
  readonly length: number;
  readonly #bytes: Buffer;
  readonly #starts: Int32Array;

  private constructor(bytes: Buffer, starts: Int32Array, length: number) {
    this.#bytes = bytes;
    this.#starts = starts;
    this.length = length;
  }

  static async of(bytes: Buffer, slices: WorkSlices): Promise<TextLines> {
    let starts = new Int32Array(1_024);
    let count = 0;
    const first = bytes.subarray(0, MARK.length).equals(MARK) ? MARK.length : 0;
    for (let at = first; at < bytes.length; at = afterLine(bytes, at)) {
      if (slices.isDue()) await slices.pass();
      if (count + 1 === starts.length) starts = doubledStarts(starts);
      starts[count] = at;
      count += 1;
    }
    starts[count] = bytes.length;
    return new TextLines(bytes, starts, count);
  }

  at(index: number): string {
    const start = this.#starts[index]!;
    let end = this.#starts[index + 1]!;
    if (end > start && this.#bytes[end - 1] === LINE_FEED) end -= 1;
    if (end > start && this.#bytes[end - 1] === RETURN) end -= 1;
    return end === start ? '' : this.#bytes.toString('utf8', start, end);
  }
}

function afterLine(bytes: Buffer, start: number): number {
  // A fast path for blank lines: searching for the end of each line would dominate the cost.
  if (bytes[start] === LINE_FEED) return start + 1;
  const end = bytes.indexOf(LINE_FEED, start);
  return end === -1 ? bytes.length : end + 1;
}

function doubledStarts(starts: Int32Array): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(starts.length * 2);
  larger.set(starts);
  return larger;
}
