import { textOf, type Members } from '../wire-values.js';

const TEXT_MEMBERS = ['text', 'summary'] as const;

/**
 * OpenRouter's `reasoning_details`: blocks in the order of the model, which OpenRouter requires back unchanged. The
 * text of a block comes in deltas; consecutive deltas of one block share `type` and `index`.
 */
export class ReasoningDetails {
  readonly #blocks: DetailBlock[] = [];

  /** Adds deltas and returns their text. */
  add(pieces: readonly Members[]): string {
    let said = '';
    for (const piece of pieces) {
      said += TEXT_MEMBERS.map((name) => textOf(piece[name]) ?? '').join('');
      const last = this.#blocks.at(-1);
      if (last?.continuesWith(piece) === true) last.add(piece);
      else this.#blocks.push(new DetailBlock(piece));
    }
    return said;
  }

  all(): Members[] {
    return this.#blocks.map((block) => block.members());
  }
}

class DetailBlock {
  #members: Members;
  readonly #texts = new Map<string, string>();

  constructor(first: Members) {
    this.#members = first;
    this.#append(first);
  }

  /** Sealed data is never split. */
  continuesWith(piece: Members): boolean {
    const { type, index } = this.#members;
    return type === piece.type && index === piece.index && piece.data === undefined && this.#members.data === undefined;
  }

  add(piece: Members): void {
    const known = Object.entries(piece).filter(([, value]) => value !== null);
    this.#members = { ...this.#members, ...Object.fromEntries(known) };
    this.#append(piece);
  }

  members(): Members {
    return { ...this.#members, ...Object.fromEntries(this.#texts) };
  }

  #append(piece: Members): void {
    for (const name of TEXT_MEMBERS) {
      const text = textOf(piece[name]);
      if (text !== undefined) this.#texts.set(name, (this.#texts.get(name) ?? '') + text);
    }
  }
}
