import { isUtf8 } from 'node:buffer';
import type { FileHandle } from 'node:fs/promises';
import { failure, failureReason, throwIfAborted } from '../failure.js';
import { ioFailure, openFile, using } from './open-verified.js';
import { quotePath } from './path-rules.js';
import type { Workspace, WorkspacePath } from './workspace.js';

/** Larger files are refused, sparse ones too: what counts is the size that the file says it has. */
const MAX_FILE_BYTES = 10 * 1024 * 1024;

const BINARY_PROBE_BYTES = 8 * 1024;
const READ_CHUNK_BYTES = 256 * 1024;

export interface TextFile {
  readonly text: string;
  /** Bytes that are not UTF-8 were shown as U+FFFD. */
  readonly lossy: boolean;
  readonly bytes: number;
  readonly realPath: string;
}

/** Reads a text file. Binary, huge and special files are refused; a byte order mark is dropped. */
export function readText(workspace: Workspace, path: WorkspacePath, signal?: AbortSignal): Promise<TextFile> {
  return using(openFile(workspace, path), async ({ handle, stat, realPath }) => {
    const bytes = await readAll(handle, stat.size, path, signal);
    checkText(bytes, path);
    const text = new TextDecoder().decode(bytes);
    return { text, lossy: text.includes('\uFFFD') && !isUtf8(bytes), bytes: bytes.length, realPath };
  });
}

/** Reads a verified regular file whole, up to `MAX_FILE_BYTES`. */
export async function readAll(
  handle: FileHandle,
  size: number,
  path: WorkspacePath,
  signal?: AbortSignal,
): Promise<Buffer> {
  checkSize(size, path);
  const chunks: Buffer[] = [];
  let total = 0;
  try {
    for (;;) {
      throwIfAborted(signal);
      const wanted = Math.min(READ_CHUNK_BYTES, Math.max(size - total, 0) + 1);
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(wanted), 0, wanted, total);
      if (bytesRead === 0) return Buffer.concat(chunks, total);
      chunks.push(buffer.subarray(0, bytesRead));
      total += bytesRead;
      checkSize(total, path);
    }
  } catch (error) {
    throw failureReason(error) ? error : ioFailure(path, error);
  }
}

/** Refuses what is not text in UTF-8 or something near it. */
export function checkText(bytes: Buffer, path: WorkspacePath): void {
  if ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)) {
    throw failure('binary', `${quotePath(path.given)} is UTF-16 text; only UTF-8 can be read.`, { path: path.given });
  }
  if (bytes.subarray(0, BINARY_PROBE_BYTES).includes(0)) {
    throw failure('binary', `${quotePath(path.given)} is a binary file.`, { path: path.given });
  }
}

/** The lines without their ends (LF or CRLF). A final line end does not begin another line. */
export function splitLines(text: string): string[] {
  if (text.length === 0) return [];
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines.map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line));
}

/** Text that UTF-8 can carry without loss. */
export function checkEncodable(text: string, what: string): void {
  if (/\p{Surrogate}/u.test(text))
    throw failure('not_text', `${what} holds half a character (a lone surrogate), which a file cannot carry.`);
}

function checkSize(bytes: number, path: WorkspacePath): void {
  if (bytes <= MAX_FILE_BYTES) return;
  throw failure(
    'too_large',
    `${quotePath(path.given)} is larger than ${MAX_FILE_BYTES / 1024 / 1024} MB and is not read; use grepFiles to find the part you need.`,
    {
      path: path.given,
      bytes,
    },
  );
}

/** Bytes of the text as a JSON string, quotes and escapes included. */
export function jsonBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text));
}
