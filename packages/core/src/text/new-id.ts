import { randomBytes } from 'node:crypto';

// A counter makes ids unique within the process; 96 random bits make them unique between processes.
const PROCESS_PART = randomBytes(12).toString('base64url');
let made = 0;

/** A short unique id, such as `scr_4f0…_1a`. Ids are not secrets: knowing one grants no access. */
export function newId(prefix: string): string {
  return `${prefix}_${PROCESS_PART}_${(made++).toString(36)}`;
}
