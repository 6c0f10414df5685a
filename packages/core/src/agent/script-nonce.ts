import { randomInt } from 'node:crypto';
import type { OutputItem } from '../protocol/index.js';
import { sha256 } from '../text/crypto.js';

/** Three digits are one token of the usual tokenizers. */
const DIGITS = 9;

/**
 * A new nonce for the scripts in a thread's text. A text that the model reads cannot contain it, unless its author has
 * read the thread's instructions.
 */
export function newScriptNonce(): string {
  return Array.from({ length: DIGITS }, () => randomInt(10)).join('');
}

/** The nonce of a conversation that stores none. Every process that continues the conversation finds the same one. */
export function nonceOfItem(first: OutputItem | undefined): string {
  if (first === undefined) return newScriptNonce();
  return BigInt(`0x${sha256(`nonce ${first.id}`)}`)
    .toString()
    .slice(-DIGITS);
}
