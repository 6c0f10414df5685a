import { createHash } from 'node:crypto';

/** SHA-256 of the UTF-8 bytes, as 64 hexadecimal digits in lower case. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
