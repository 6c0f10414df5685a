import type { EventPayload, OutputItem, StreamOptions } from '../protocol/index.js';
import type { BackgroundAnswer, InterruptedRun } from './interrupted-run.js';

/**
 * An answer that its service continued after the process of a run had ended. It is read again from its beginning: its
 * items then have the same ids, so what the events of the run have of it is known.
 */
export class ContinuedAnswer {
  readonly #answer: BackgroundAnswer;
  /** The items of the run that had ended, and those that had not. */
  readonly #ended: ReadonlySet<string>;
  readonly #open: ReadonlySet<string>;

  private constructor(answer: BackgroundAnswer, { openItems, itemIds }: InterruptedRun) {
    this.#answer = answer;
    this.#open = new Set(openItems);
    this.#ended = new Set([...itemIds].filter((id) => !this.#open.has(id)));
  }

  /** Undefined if there is no such answer, or if reading it again would repeat a script in its text. */
  static of(run: InterruptedRun, items: readonly OutputItem[]): ContinuedAnswer | undefined {
    const { background } = run;
    if (background === undefined) return undefined;
    // defence: continued-scripts-run-once
    const ofAnswer = items.filter(({ answer_id: id }) => id === background.answer_id);
    const hasScript = ofAnswer.some((item) => item.type === 'script_execution' && item.format !== 'tool');
    return hasScript ? undefined : new ContinuedAnswer(background, run);
  }

  get options(): StreamOptions {
    const { answer_id: answerId, response_id: responseId, model } = this.#answer;
    return { answerId, continues: { responseId, model } };
  }

  /**
   * The payloads of the answer without the items that had ended. Messages are left in: the items of a message with
   * scripts have ids of their own.
   */
  async *unread(answer: AsyncIterable<EventPayload>): AsyncGenerator<EventPayload> {
    const skipped = new Set<unknown>();
    for await (const payload of answer) {
      // defence: continued-calls-run-once
      if (payload.type === 'item_start' && payload.item_type !== 'message' && this.#ended.has(payload.item_id))
        skipped.add(payload.item_id);
      if (!('item_id' in payload) || payload.type === 'item_update' || !skipped.has(payload.item_id)) yield payload;
    }
  }

  /** False for a payload that the events of the run have. They lack the end of an item that the recovery cancelled. */
  isNew(payload: EventPayload): boolean {
    if (payload.type === 'background_answer') return false;
    if (payload.type === 'item_update' || !('item_id' in payload)) return true;
    const id = String(payload.item_id);
    if (this.#ended.has(id)) return false;
    return !this.#open.has(id) || payload.type === 'item_done' || payload.type === 'item_error';
  }

  hasCalls(items: readonly OutputItem[]): boolean {
    const calls: readonly string[] = ['function_call', 'script_execution'];
    return items.some(({ answer_id: id, type }) => id === this.#answer.answer_id && calls.includes(type));
  }
}
