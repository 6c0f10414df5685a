import { hash, randomBytes } from 'node:crypto';

// A counter makes ids unique within the process; 96 random bits make them unique between processes.
const PROCESS_PART = letters(12);
let made = 0;

/**
 * Returns a short unique id, such as `scr_4f0…_1a`. The id contains only letters, digits and `_`, so that a double
 * click selects all of it. Ids are not secrets: knowing an id grants no access.
 */
export function newId(prefix: string): string {
  return `${prefix}_${PROCESS_PART}_${(made++).toString(36)}`;
}

function letters(bytes: number): string {
  return BigInt(`0x${randomBytes(bytes).toString('hex')}`).toString(36);
}

/** Returns the SHA-256 of the bytes, or of the UTF-8 bytes of a text, as 64 hexadecimal digits in lower case. */
export function sha256(data: string | Uint8Array): string {
  return hash('sha256', data, 'hex');
}
