// AbortController and AbortSignal. A signal reaches no tool: a script aborts its own loops and waits with it.
import { DOMException, Promise, RangeError, Set, TypeError } from '../primordials.js';
import { defineMembers, nameMembers, tag } from './define.js';

type Listener = ((event: object) => void) | { handleEvent(event: object): void };
type Later = (callback: () => void, ms: number) => unknown;

/** The functions that change a signal; scripts cannot reach them. */
interface Internals {
  readonly make: () => AbortSignal;
  readonly abort: (signal: AbortSignal, reason: unknown) => void;
}

const constructing = { isAllowed: false };
let internals: Internals;

class AbortSignal {
  #isAborted = false;
  #reason: unknown = undefined;
  readonly #listeners = new Set<Listener>();
  onabort: ((event: object) => void) | null = null;

  static {
    internals = {
      make: () => {
        constructing.isAllowed = true;
        return new AbortSignal();
      },
      abort: (signal, reason) => signal.#abort(reason),
    };
  }

  constructor() {
    const { isAllowed } = constructing;
    constructing.isAllowed = false;
    if (!isAllowed) throw new TypeError('Illegal constructor: use new AbortController().signal');
  }

  static abort(reason?: unknown): AbortSignal {
    const signal = internals.make();
    signal.#abort(reason);
    return signal;
  }

  static any(signals: Iterable<AbortSignal>): AbortSignal {
    const either = internals.make();
    for (const signal of signals) {
      if (signal.#isAborted) either.#abort(signal.#reason);
      else signal.addEventListener('abort', () => either.#abort(signal.#reason));
    }
    return either;
  }

  get aborted(): boolean {
    return this.#isAborted;
  }

  get reason(): unknown {
    return this.#reason;
  }

  throwIfAborted(): void {
    if (this.#isAborted) throw this.#reason;
  }

  addEventListener(type: unknown, listener: Listener | null): void {
    if (type !== 'abort' || listener === null) return;
    this.#listeners.add(listener);
  }

  removeEventListener(type: unknown, listener: Listener): void {
    if (type === 'abort') this.#listeners.delete(listener);
  }

  #abort(reason: unknown): void {
    if (this.#isAborted) return;
    this.#isAborted = true;
    this.#reason = reason === undefined ? new DOMException('This operation was aborted', 'AbortError') : reason;
    const event = { type: 'abort', target: this, currentTarget: this };
    const listeners = [...(typeof this.onabort === 'function' ? [this.onabort] : []), ...this.#listeners];
    this.#listeners.clear();
    for (const listener of listeners) this.#notify(listener, event);
  }

  /** An error of a listener is an unhandled rejection, and stops no other listener. */
  #notify(listener: Listener, event: object): void {
    try {
      if (typeof listener === 'function') listener.call(this, event);
      else listener.handleEvent(event);
    } catch (error) {
      void Promise.reject(error);
    }
  }
}

class AbortController {
  readonly #signal = internals.make();

  get signal(): AbortSignal {
    return this.#signal;
  }

  abort(reason?: unknown): void {
    internals.abort(this.#signal, reason);
  }
}

/** The two classes. `later` calls a function after a time. */
export function makeAbortClasses(later: Later): { AbortController: object; AbortSignal: object } {
  defineMembers(AbortSignal, {
    timeout(ms: number): AbortSignal {
      if (!(ms >= 0)) throw new RangeError('AbortSignal.timeout takes a number of milliseconds');
      const signal = internals.make();
      later(() => internals.abort(signal, new DOMException('The operation timed out', 'TimeoutError')), ms);
      return signal;
    },
  });
  tag(AbortSignal.prototype, 'AbortSignal');
  tag(AbortController.prototype, 'AbortController');
  return nameMembers({ AbortController, AbortSignal });
}
