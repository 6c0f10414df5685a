import type { OutputItem } from '../protocol/index.js';

/** The text of a run's last answer. */
export class FinalText {
  readonly #answers = new Set<unknown>();
  #text = '';

  take(item: OutputItem): void {
    if (item.answer_id !== undefined && !this.#answers.has(item.answer_id)) {
      this.#answers.add(item.answer_id);
      this.#text = '';
    }
    if (item.type === 'message' && item.role === 'assistant') this.#text += item.content;
  }

  /** The number of answers. */
  get answers(): number {
    return this.#answers.size;
  }

  get text(): string {
    return this.#text;
  }
}
