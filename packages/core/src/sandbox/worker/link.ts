import { receiveMessageOnPort, type MessagePort } from 'node:worker_threads';

const BUSY_RUN = 0;
const SEGMENTS_ENTERED = 1;
const SCRIPTS = 2;
const MESSAGES = 3;
const FIRST_SLOT = 4;

export const IDLE = -1;

const REASONS = { 1: 'cancelled', 2: 'timeout' } as const;
export type CancelReason = 'cancelled' | 'timeout';

/**
 * A few shared words for each worker, for state that cannot wait until the worker reads its messages: whether a running
 * script was cancelled, how many scripts share the worker, which script the worker executes, and how many messages were
 * sent to the worker.
 */
export class Control {
  readonly #words: Int32Array;

  constructor(readonly buffer: SharedArrayBuffer) {
    this.#words = new Int32Array(buffer);
  }

  static create(slots: number): Control {
    const control = new Control(new SharedArrayBuffer((FIRST_SLOT + slots) * 4));
    control.leave();
    return control;
  }

  enter(run: number): void {
    Atomics.store(this.#words, BUSY_RUN, run);
    Atomics.add(this.#words, SEGMENTS_ENTERED, 1);
  }

  leave(): void {
    Atomics.store(this.#words, BUSY_RUN, IDLE);
  }

  /** The run that the worker executes now, or IDLE, and the number of segments that the worker has started. */
  busy(): { run: number; entered: number } {
    return { run: Atomics.load(this.#words, BUSY_RUN), entered: Atomics.load(this.#words, SEGMENTS_ENTERED) };
  }

  /**
   * Sets the number of scripts that share the worker. A script that computes for a long time yields if this number
   * exceeds 1.
   */
  setScripts(count: number): void {
    Atomics.store(this.#words, SCRIPTS, count);
  }

  scripts(): number {
    return Atomics.load(this.#words, SCRIPTS);
  }

  /** Counts a message that was sent to the worker. */
  countMessage(): void {
    Atomics.add(this.#words, MESSAGES, 1);
  }

  messages(): number {
    return Atomics.load(this.#words, MESSAGES);
  }

  cancel(slot: number, reason: CancelReason): void {
    Atomics.store(this.#words, FIRST_SLOT + slot, reason === 'cancelled' ? 1 : 2);
  }

  clear(slot: number): void {
    Atomics.store(this.#words, FIRST_SLOT + slot, 0);
  }

  cancelled(slot: number): CancelReason | undefined {
    return REASONS[Atomics.load(this.#words, FIRST_SLOT + slot) as 1 | 2];
  }
}

/**
 * The time for which a thread stays awake for its next message, in ms. The system needs 7 to 30 µs to wake a sleeping
 * thread, and more in a virtual machine. That is most of the time of a quick tool call.
 */
const AWAKE_MS = 0.05;
/** Time in ms, including the wake-up. If a message arrives within this time, staying awake was worthwhile. */
const SOON_MS = 0.15;
/**
 * A thread stays awake after this number of consecutive messages that each arrived within SOON_MS. At worst, the thread
 * wastes one short wait for each series of this many messages.
 */
const SOON_IN_A_ROW = 4;
/** Maximum time between two turns of the event loop, in ms. */
const MAX_MS = 20;

/**
 * Reads a port's messages, and stays awake between them while they come in quick succession. If the next message does
 * not come soon, the thread sleeps again. `sent` returns the number of messages that were sent; the thread polls this
 * number, because polling the port would block the sender.
 */
export function onMessages(port: MessagePort, sent: () => number, handle: (message: unknown) => void): void {
  let answeredAt = 0;
  let soon = 0;
  let taken = 0;
  // The count may be above or below the number of messages that were taken, because the sender counts each message
  // after sending it.
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
 * Keeps the thread awake that waits for a worker's answer. This thread belongs to the application and must never block:
 * instead of sleeping, its event loop keeps turning and does all its other work.
 */
export class WakefulLoop {
  #sentAt = 0;
  #isAwaited = false;
  #isTurning = false;
  /** True if the loop kept turning after the last message, and stopped before the answer arrived. */
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

/**
 * A least recently used cache of what a worker has received. The worker's copy holds the values; the pool's copy holds
 * only the keys. Both process the same runs in the same order, so the pool knows the worker's cache without asking.
 */
export class WorkerLedger<Value> {
  readonly #entries = new Map<string, Value>();
  /** The most recent key, which need not be moved when it is used again. */
  #latest: string | undefined;

  constructor(readonly capacity: number) {}

  /** Returns the key's value, and makes the key the most recent one. */
  use(key: string): Value | undefined {
    const value = this.#entries.get(key);
    if (value === undefined || key === this.#latest) return value;
    this.#latest = key;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  add(key: string, value: Value): void {
    this.#latest = key;
    this.#entries.set(key, value);
    if (this.#entries.size > this.capacity) this.#entries.delete(this.#entries.keys().next().value!);
  }
}
