import { randomBytes } from 'node:crypto';

// Unique within the process by the count, and between processes by 96 bits of chance.
const PROCESS_PART = randomBytes(12).toString('base64url');
let made = 0;

/** A short unique name, as in `scr_4f0…_1a`. Names are no secrets: nothing is granted by knowing one. */
export function newId(prefix: string): string {
  return `${prefix}_${PROCESS_PART}_${(made++).toString(36)}`;
}
