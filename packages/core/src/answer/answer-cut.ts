import type { EventPayload } from '../protocol/index.js';

/** For a provider to say what an answer used, after its script has ended, in ms. */
const USAGE_WAIT_MS = 1000;

/**
 * The end of an answer at its script. Most models end there by themselves, and then the provider says what the answer
 * used. So it is not stopped at once, but as soon as the model says more (blanks too: what the provider holds for the
 * answer is what it is given back), or nothing comes:
 *
 *   open ──the script's end──▶ closing ──more is said | no end in time──▶ stopped
 */
export class AnswerCut {
  readonly #stop: () => void;
  #isClosing = false;
  /** Payloads that say something, which have come and which were read. */
  #came = 0;
  #read = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `stop` ends the provider's stream. */
  constructor(stop: () => void) {
    this.#stop = stop;
  }

  /** It came from the provider; it is read later. */
  came(payload: EventPayload): void {
    if (!saysSomething(payload)) return;
    this.#came += 1;
    if (this.#isClosing) this.#stop();
  }

  read(payload: EventPayload): void {
    if (saysSomething(payload)) this.#read += 1;
  }

  /** The script has ended. `saysMore`: something stands behind it in the same piece. */
  close(saysMore: boolean): void {
    this.#isClosing = true;
    if (saysMore || this.#came > this.#read) return this.#stop();
    this.#timer = setTimeout(this.#stop, USAGE_WAIT_MS);
  }

  /** The answer is read. */
  end(): void {
    clearTimeout(this.#timer);
  }
}

function saysSomething(payload: EventPayload): boolean {
  if (payload.type === 'item_start') return payload.item_type !== 'message';
  return payload.type === 'item_delta' && payload.delta !== '';
}
