import { isUtf8 } from 'node:buffer';
import { createReadStream, fstatSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { ownCommand, shellWord } from '../terminal/own-command.js';
import { visibleLine } from '../terminal/untrusted.js';
import { systemCode, UsageError } from '../usage-error.js';

/** A source of text. */
export interface TextSource {
  /** The name of the source in messages. */
  readonly name: string;
  readonly isStdin: boolean;
  /**
   * The text, as it arrives. Before the promise resolves, a regular file is checked completely, and a pipe up to its
   * first chunk, so that scripts can run while the rest is still being written. Throws UsageErrors.
   */
  open(): Promise<AsyncIterable<string>>;
  /** Stops reading, so that an open pipe does not keep the process alive. Idempotent. */
  close(): void;
}

/** The source that a FILE argument names. `-` means stdin, and so does a missing argument if stdin is redirected. */
export function sourceFor(file: string | undefined, command: 'run' | 'eval' | 'chat'): TextSource {
  if (file !== undefined && file !== '-') return new FileSource(file);
  if (file === undefined && !stdinBringsText()) throw new UsageError(missingInput(command));
  return {
    name: 'stdin',
    isStdin: true,
    open: () => checkFirst(decode(process.stdin, 'stdin')),
    close: () => void process.stdin.destroy(),
  };
}

/** The whole text of a source. Throws a RangeError if it is longer than `maxBytes`. */
export async function readWhole(source: TextSource, maxBytes = Number.POSITIVE_INFINITY): Promise<string> {
  let text = '';
  let bytes = 0;
  for await (const piece of await source.open()) {
    bytes += Buffer.byteLength(piece);
    if (bytes > maxBytes) throw new RangeError(`more than ${maxBytes} bytes`);
    text += piece;
  }
  return text;
}

export function stdinBringsText(): boolean {
  try {
    const stat = fstatSync(process.stdin.fd);
    return stat.isFIFO() || stat.isFile() || stat.isSocket();
  } catch {
    return false;
  }
}

function missingInput(command: 'run' | 'eval' | 'chat'): string {
  if (command === 'run')
    return "There is no input. Pass the file of a model's answer (toolscript run answer.md), or pipe the answer in.";
  return 'There is no input. Pass a script file (toolscript eval script.ts) or the code (-e CODE), or pipe the script in.';
}

class FileSource implements TextSource {
  readonly name: string;
  readonly isStdin = false;
  #stream: Readable | undefined;

  constructor(path: string) {
    this.name = path;
  }

  async open(): Promise<AsyncIterable<string>> {
    const handle = await openReadable(this.name);
    const stat = await handle.stat();
    if (stat.isDirectory()) {
      await handle.close();
      throw new UsageError(`${visibleLine(this.name)} is a folder. Name a file in it.`);
    }
    if (stat.isFile()) return single(await readRegular(handle, stat.size, this.name));
    this.#stream = createReadStream(this.name, { fd: handle });
    return checkFirst(decode(this.#stream, this.name));
  }

  close(): void {
    this.#stream?.destroy();
  }
}

async function readRegular(handle: FileHandle, size: number, path: string): Promise<string> {
  try {
    if (size > MAX_INPUT_BYTES) throw new UsageError(tooLarge(visibleLine(path)));
    const decoder = new StrictTextDecoder(path);
    const text = decoder.push(await handle.readFile());
    decoder.end();
    return text;
  } catch (error) {
    throw inputError(path, error);
  } finally {
    await handle.close();
  }
}

async function openReadable(path: string): Promise<FileHandle> {
  if (path === '' || path.includes('\0'))
    throw new UsageError('The name of the file is not a path. Name an existing file.');
  try {
    return await open(path, 'r');
  } catch (error) {
    throw inputError(path, error);
  }
}

async function* decode(chunks: AsyncIterable<Uint8Array | string>, name: string): AsyncGenerator<string> {
  const decoder = new StrictTextDecoder(name);
  try {
    for await (const chunk of chunks) {
      const text = decoder.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
      if (text !== '') yield text;
    }
  } catch (error) {
    throw inputError(name, error);
  }
  decoder.end();
}

/** Waits for the first chunk, so that early errors are reported before anything runs. */
async function checkFirst(pieces: AsyncGenerator<string>): Promise<AsyncIterable<string>> {
  const first = await pieces.next();
  return (async function* () {
    if (first.done === true) return;
    yield first.value;
    yield* pieces;
  })();
}

async function* single(text: string): AsyncGenerator<string> {
  if (text !== '') yield text;
}

function inputError(path: string, error: unknown): unknown {
  const name = visibleLine(path);
  switch (systemCode(error)) {
    case 'ENOENT':
    case 'ENOTDIR':
    case 'ENAMETOOLONG':
      return new UsageError(`There is no file ${name}. ${missingFileAdvice(path)}`);
    case 'EACCES':
    case 'EPERM':
      return new UsageError(`The file ${name} cannot be read. Run chmod u+r on it, or use another file.`);
    case 'EISDIR':
      return new UsageError(`${name} is a folder. Name a file in it.`);
    case undefined:
      return error;
    default:
      return new UsageError(`The file ${name} cannot be read (${systemCode(error)}). Name another file.`);
  }
}

/** Code in place of a file is a common slip. */
function missingFileAdvice(path: string): string {
  if (!/[\s(){};=]/u.test(path)) return 'Check the path, or use - to read stdin.';
  return `If it is code, run it with: ${ownCommand()} eval -e ${path.length > 200 ? 'CODE' : shellWord(path)}`;
}

/** The maximum size of an answer or a script, in bytes. */
const MAX_INPUT_BYTES = 64 * 1024 * 1024;

/**
 * Decodes bytes to text. Rejects invalid UTF-8 with an error that names its position and contains no text of the input.
 * A byte order mark stays in the text.
 */
export class StrictTextDecoder {
  readonly #name: string;
  #carriedBytes: Uint8Array = new Uint8Array();
  #bytesBefore = 0;

  /** `name` is the input's name in messages. */
  constructor(name: string) {
    this.#name = visibleLine(name);
  }

  /** Throws a UsageError for input that is binary, not UTF-8 or too large. */
  push(chunk: Uint8Array): string {
    const bytes = this.#carriedBytes.length === 0 ? chunk : Buffer.concat([this.#carriedBytes, chunk]);
    if (this.#bytesBefore + bytes.length > MAX_INPUT_BYTES) throw new UsageError(tooLarge(this.#name));
    this.#refuseBinary(bytes);
    const { validBytes, incomplete } = scanUtf8(bytes);
    if (validBytes < bytes.length && !incomplete) this.#refuse(bytes, validBytes);
    this.#carriedBytes = bytes.slice(validBytes);
    this.#bytesBefore += validBytes;
    return Buffer.from(bytes.buffer, bytes.byteOffset, validBytes).toString('utf8');
  }

  end(): void {
    if (this.#carriedBytes.length > 0) this.#refuse(this.#carriedBytes, 0);
  }

  #refuseBinary(bytes: Uint8Array): void {
    const start = this.#bytesBefore === 0 ? ((bytes[0] ?? 0) << 8) | (bytes[1] ?? 0) : 0;
    if (start === 0xfffe || start === 0xfeff)
      throw new UsageError(`${this.#name} is UTF-16 text. Save it as UTF-8 and try again.`);
    const zero = bytes.indexOf(0);
    if (zero === -1) return;
    throw new UsageError(`${this.#name} is binary (byte ${this.#bytesBefore + zero} is NUL). Use a text file.`);
  }

  #refuse(bytes: Uint8Array, at: number): never {
    const byte = (bytes[at] as number).toString(16).padStart(2, '0');
    throw new UsageError(
      `${this.#name} is not UTF-8: byte ${this.#bytesBefore + at} (0x${byte}) starts no valid character. Save it as UTF-8 and try again.`,
    );
  }
}

function tooLarge(name: string): string {
  return `${name} is larger than ${MAX_INPUT_BYTES / 1024 / 1024} MiB. Use a smaller input.`;
}

/** The length of the valid UTF-8 prefix. `incomplete` is true if the bytes end in the middle of a character. */
export interface Utf8Scan {
  readonly validBytes: number;
  readonly incomplete: boolean;
}

/**
 * Finds the valid prefix. Table 3-7 of the Unicode Standard lists the valid sequences; it excludes overlong forms and
 * surrogates.
 */
export function scanUtf8(bytes: Uint8Array): Utf8Scan {
  if (isUtf8(bytes)) return { validBytes: bytes.length, incomplete: false };
  let at = 0;
  while (at < bytes.length) {
    const first = bytes[at] as number;
    const length = sequenceLength(first);
    if (length === 0) return { validBytes: at, incomplete: false };
    for (let offset = 1; offset < length; offset++) {
      const next = bytes[at + offset];
      if (next === undefined) return { validBytes: at, incomplete: true };
      const [low, high] = offset === 1 ? secondByteRange(first) : [0x80, 0xbf];
      if (next < low || next > high) return { validBytes: at, incomplete: false };
    }
    at += length;
  }
  return { validBytes: at, incomplete: false };
}

function sequenceLength(first: number): number {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return 2;
  if (first >= 0xe0 && first <= 0xef) return 3;
  return first >= 0xf0 && first <= 0xf4 ? 4 : 0;
}

function secondByteRange(first: number): readonly [number, number] {
  if (first === 0xe0) return [0xa0, 0xbf];
  if (first === 0xed) return [0x80, 0x9f];
  if (first === 0xf0) return [0x90, 0xbf];
  return first === 0xf4 ? [0x80, 0x8f] : [0x80, 0xbf];
}
