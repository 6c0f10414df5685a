import type { EventPayload } from '../protocol/index.js';

/** Maximum time in ms for a provider to report an answer's usage after its script has ended. */
const USAGE_WAIT_MS = 1000;

/**
 * Ends an answer after its script. Most models stop after a script by themselves, and the provider then reports the
 * usage of the answer. So Toolscript stops the provider only when the model writes more, or when the answer does not
 * end in time. White space counts as more, because later requests must repeat the answer as the provider stored it:
 *
 *   open ──the script's end──▶ closing ──more output | no end in time──▶ stopped
 */
export class AnswerCut {
  readonly #stop: () => void;
  #isClosing = false;
  /** The counts of payloads with output that have arrived and that were read. */
  #came = 0;
  #read = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `stop` ends the provider's stream. */
  constructor(stop: () => void) {
    this.#stop = stop;
  }

  /** A payload has arrived from the provider; it is read later. */
  came(payload: EventPayload): void {
    if (!saysSomething(payload)) return;
    this.#came += 1;
    if (this.#isClosing) this.#stop();
  }

  read(payload: EventPayload): void {
    if (saysSomething(payload)) this.#read += 1;
  }

  /** The script has ended. `saysMore`: more text follows it in the same chunk. */
  close(saysMore: boolean): void {
    this.#isClosing = true;
    if (saysMore || this.#came > this.#read) return this.#stop();
    this.#timer = setTimeout(this.#stop, USAGE_WAIT_MS);
  }

  /** The answer was read to its end. */
  end(): void {
    clearTimeout(this.#timer);
  }
}

function saysSomething(payload: EventPayload): boolean {
  if (payload.type === 'item_start') return payload.item_type !== 'message';
  return payload.type === 'item_delta' && payload.delta !== '';
}
