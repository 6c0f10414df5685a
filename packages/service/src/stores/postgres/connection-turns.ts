import { FairQueue } from '@toolscript/core/internal';
import { WAIT_MS } from './faults.js';

interface Waiting {
  readonly principal: string | undefined;
  readonly begin: () => void;
}

/**
 * The connections of a pool, as turns of the principals that wait for one. `share`: the maximum number that one
 * principal uses at a time, so that others never wait for several of its calls.
 */
export class ConnectionTurns {
  readonly #queue = new FairQueue<Waiting>(Number.POSITIVE_INFINITY);
  readonly #used = new Map<string | undefined, number>();
  readonly #share: number;
  #free: number;

  constructor(connections: number, share: number) {
    this.#free = connections;
    this.#share = share;
  }

  /** Calls the action when it is the principal's turn. Rejects like the pool after `WAIT_MS` without a turn. */
  async use<Result>(principal: string | undefined, action: () => Promise<Result>): Promise<Result> {
    await this.#turn(principal);
    try {
      return await action();
    } finally {
      this.#free += 1;
      const used = this.#usedBy(principal) - 1;
      if (used === 0) this.#used.delete(principal);
      else this.#used.set(principal, used);
      this.#serve();
    }
  }

  #turn(principal: string | undefined): Promise<void> {
    return new Promise((begin, reject) => {
      const refuse = () => reject(new Error('timeout exceeded when trying to get a connection'));
      // defence: connections-take-turns
      this.#queue.add({ principal, begin }, { principal, waitMs: WAIT_MS }, refuse);
      this.#serve();
    });
  }

  #serve(): void {
    while (this.#free > 0) {
      const next = this.#queue.find(({ principal }) => this.#usedBy(principal) < this.#share);
      if (next === undefined) return;
      this.#queue.remove(next);
      this.#free -= 1;
      this.#used.set(next.principal, this.#usedBy(next.principal) + 1);
      next.begin();
    }
  }

  #usedBy(principal: string | undefined): number {
    return this.#used.get(principal) ?? 0;
  }
}
