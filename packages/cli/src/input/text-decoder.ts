import { visibleLine } from '../terminal/untrusted.js';
import { UsageError } from '../usage-error.js';
import { scanUtf8 } from './utf8.js';

/** Maximum size of an answer or a script, in bytes. */
export const MAX_INPUT_BYTES = 64 * 1024 * 1024;

/**
 * Decodes bytes to text, strictly: invalid UTF-8 is rejected with its place, and no part of it is shown. A byte order
 * mark stays in the text.
 */
export class StrictTextDecoder {
  readonly #name: string;
  #carried: Uint8Array = new Uint8Array();
  #bytesBefore = 0;

  /** `name`: the input's name in messages. */
  constructor(name: string) {
    this.#name = visibleLine(name);
  }

  /** Throws a UsageError for input that is binary, not UTF-8 or too large. */
  push(chunk: Uint8Array): string {
    const bytes = this.#carried.length === 0 ? chunk : Buffer.concat([this.#carried, chunk]);
    if (this.#bytesBefore + bytes.length > MAX_INPUT_BYTES) throw new UsageError(tooLarge(this.#name));
    this.#refuseBinary(bytes);
    const { validBytes, incomplete } = scanUtf8(bytes);
    if (validBytes < bytes.length && !incomplete) this.#refuse(bytes, validBytes);
    this.#carried = bytes.slice(validBytes);
    this.#bytesBefore += validBytes;
    return Buffer.from(bytes.buffer, bytes.byteOffset, validBytes).toString('utf8');
  }

  end(): void {
    if (this.#carried.length > 0) this.#refuse(this.#carried, 0);
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

export function tooLarge(name: string): string {
  return `${name} is larger than ${MAX_INPUT_BYTES / 1024 / 1024} MiB. Use a smaller input.`;
}
