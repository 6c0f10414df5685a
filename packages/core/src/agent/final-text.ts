import type { OutputItem } from '../protocol/index.js';

/** The text of a run's last answer. */
export class FinalText {
  readonly #answers = new Set<unknown>();
  #text = '';
  #lastMessage = '';
  #refusal: string | undefined;

  take(item: OutputItem): void {
    if (item.answer_id !== undefined && !this.#answers.has(item.answer_id)) {
      this.#answers.add(item.answer_id);
      this.#text = this.#lastMessage = '';
      this.#refusal = undefined;
    }
    if (item.type !== 'message' || item.role !== 'assistant') return;
    this.#text += item.content;
    this.#lastMessage = item.content;
    if (typeof item['refusal'] === 'string') this.#refusal = item['refusal'];
  }

  /** The number of answers. */
  get answers(): number {
    return this.#answers.size;
  }

  get text(): string {
    return this.#text;
  }

  /** The last message of the answer. An answer may comment on its work in messages before it. */
  get lastMessage(): string {
    return this.#lastMessage;
  }

  /** The words with which the model refused to answer. */
  get refusal(): string | undefined {
    return this.#refusal;
  }
}
