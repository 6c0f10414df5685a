import { receiveMessageOnPort, type MessagePort } from 'node:worker_threads';

/**
 * How long a worker stays awake for its next message, in ms. The system wakes a sleeping thread only after 7 to 30
 * µs, and later in a virtual machine, which is most of the time of a quick tool call.
 */
const AWAKE_MS = 0.05;
/** If a message arrives this soon after the worker's answer, including the wake-up, staying awake was worthwhile. */
const SOON_MS = 0.15;
/**
 * Number of such messages in a row before the worker stays awake: at worst, one short wait in this number is wasted.
 */
const SOON_IN_A_ROW = 4;
/** The event loop gets a turn at least this often, in ms. */
const MAX_MS = 20;

/**
 * Reads a port's messages, and stays awake between them while they come in quick succession. If the next message does
 * not come soon, the thread sleeps again. `sent` returns how many messages have arrived: polling the port itself
 * would block its sender.
 */
export function onMessages(port: MessagePort, sent: () => number, handle: (message: unknown) => void): void {
  let answeredAt = 0;
  let soon = 0;
  let taken = 0;
  // The count may be ahead of the messages that were taken, or about to catch up with them.
  const hasMore = () => ((sent() - taken) | 0) > 0;
  port.on('message', (first: unknown) => {
    const arrivedAt = performance.now();
    soon = arrivedAt - answeredAt < SOON_MS ? soon + 1 : 0;
    for (let received: { message: unknown } | undefined = { message: first }; received !== undefined;) {
      taken = (taken + 1) | 0;
      handle(received.message);
      answeredAt = performance.now();
      if (soon < SOON_IN_A_ROW || answeredAt - arrivedAt > MAX_MS) return;
      received = nextMessage(port, hasMore, answeredAt + AWAKE_MS);
    }
    soon = 0;
  });
}

/**
 * The same for the thread that waits for a worker's answer. This thread belongs to the application, so it is never
 * blocked: its event loop keeps turning, with all its other work, instead of sleeping.
 */
export class WakefulLoop {
  #sentAt = 0;
  #isAwaited = false;
  #isTurning = false;
  /** The loop kept turning after the last message, and stopped before the answer arrived. */
  #gaveUp = false;
  #soon = 0;

  sent(): void {
    this.#sentAt = performance.now();
    this.#isAwaited = true;
    if (this.#isTurning || this.#soon < SOON_IN_A_ROW) return;
    this.#isTurning = true;
    setImmediate(this.#turn);
  }

  answered(): void {
    const isSoon = !this.#gaveUp && performance.now() - this.#sentAt < SOON_MS;
    this.#soon = isSoon ? this.#soon + 1 : 0;
    this.#isAwaited = false;
    this.#gaveUp = false;
  }

  readonly #turn = (): void => {
    const mayTurn = performance.now() - this.#sentAt < AWAKE_MS;
    if (this.#isAwaited && mayTurn) {
      setImmediate(this.#turn);
      return;
    }
    this.#isTurning = false;
    this.#gaveUp = this.#isAwaited;
  };
}

function nextMessage(port: MessagePort, hasMore: () => boolean, until: number): { message: unknown } | undefined {
  while (!hasMore()) if (performance.now() > until) return undefined;
  return receiveMessageOnPort(port);
}
