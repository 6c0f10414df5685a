import { sha256 } from '../../text/crypto.js';

/**
 * The part of a request before an answer: the system text, the tools and the messages, without cache marks. Newer models bind their
 * thinking to this prefix: a service refuses a thinking block after any change of its prefix. So the items of reasoning
 * store the hash of their prefix, and a request leaves out the reasoning whose prefix has changed.
 *
 * Source: https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks, as read on
 * 2026-11-28.
 */
export class Prefix {
  #hash: string;

  constructor(...beginning: readonly unknown[]) {
    this.#hash = sha256(JSON.stringify(beginning));
  }

  get hash(): string {
    return this.#hash;
  }

  add(message: object): void {
    this.#hash = sha256(this.#hash + JSON.stringify(message));
  }
}
