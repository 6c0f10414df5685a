import { receiveMessageOnPort, type MessagePort } from 'node:worker_threads';

/**
 * How long a worker stays awake for its next message, in ms. The system wakes a sleeping thread only after 7 to 30 µs, in
 * a virtual machine later still; that is most of a quick tool call.
 */
const AWAKE_MS = 0.05;
/** A message that comes this soon after the worker's answer, waking included, was worth staying awake for. */
const SOON_MS = 0.15;
/** So many in a row before the worker stays awake: at worst one short wait in so many is wasted. */
const SOON_IN_A_ROW = 4;
/** The event loop has its turn at least this often. */
const LONGEST_MS = 20;

/**
 * Reads a port's messages, and stays awake between them while they come in quick succession. When one message does not
 * come soon, the thread sleeps again. `sent` says how many messages have arrived: polling the port itself would hold up
 * its sender.
 */
export function onMessages(port: MessagePort, sent: () => number, handle: (message: unknown) => void): void {
  let answeredAt = 0;
  let soon = 0;
  let taken = 0;
  // The count may run ahead of the messages that were taken, or be about to catch up with them.
  const hasMore = () => ((sent() - taken) | 0) > 0;
  port.on('message', (first: unknown) => {
    const arrivedAt = performance.now();
    soon = arrivedAt - answeredAt < SOON_MS ? soon + 1 : 0;
    for (let received: { message: unknown } | undefined = { message: first }; received !== undefined;) {
      taken = (taken + 1) | 0;
      handle(received.message);
      answeredAt = performance.now();
      if (soon < SOON_IN_A_ROW || answeredAt - arrivedAt > LONGEST_MS) return;
      received = nextMessage(port, hasMore, answeredAt + AWAKE_MS);
    }
    soon = 0;
  });
}

/**
 * The same for the thread that waits for a worker's answer. It is the application's own, so it is not held up: its event
 * loop keeps turning, with all its other work, where it would sleep.
 */
export class WakefulLoop {
  #sentAt = 0;
  #isAwaited = false;
  #isTurning = false;
  /** It kept turning for the last message, and the answer came too late. */
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
