import { createReadStream, fstatSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { open, type FileHandle } from 'node:fs/promises';
import { visibleLine } from '../terminal/untrusted.js';
import { systemCode, UsageError } from '../usage-error.js';
import { MAX_INPUT_BYTES, StrictTextDecoder, tooLarge } from './text-decoder.js';

/** A source of text. */
export interface TextSource {
  /** Its name in messages. */
  readonly name: string;
  readonly isStdin: boolean;
  /**
   * The text, as it arrives. A regular file is checked completely before the promise resolves; for a pipe, only the
   * first chunk is, so that scripts can run while the rest is still being written. Throws UsageErrors.
   */
  open(): Promise<AsyncIterable<string>>;
  /** Stops reading, so that an open pipe does not keep the process alive. Idempotent. */
  close(): void;
}

/** A FILE argument. `-` means stdin, and so does a missing argument if stdin has data. */
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
      return new UsageError(`There is no file ${name}. Check the path, or use - to read stdin.`);
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
