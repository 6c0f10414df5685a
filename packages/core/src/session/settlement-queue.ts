import type { Settlement } from '../protocol/index.js';

/** Maximum characters of results that go to the guest at once; the rest follows in the next batch. */
const MAX_BATCH_UNITS = 4_194_304;

/** The results of calls, until they are delivered to the guest. */
export class SettlementQueue {
  #settlements: Settlement[];

  constructor(earlier: readonly Settlement[] = []) {
    this.#settlements = [...earlier];
  }

  get isEmpty(): boolean {
    return this.#settlements.length === 0;
  }

  add(settlement: Settlement): void {
    this.#settlements.push(settlement);
  }

  callIndexes(): Set<number> {
    return new Set(this.#settlements.map(({ callIndex }) => callIndex));
  }

  /** The first results, as many as may go at once. */
  takeBatch(): Settlement[] {
    let units = 0;
    let count = 0;
    for (const settlement of this.#settlements) {
      if (count > 0 && units > MAX_BATCH_UNITS) break;
      units += settlement.ok ? settlement.json.length : settlement.error.message.length;
      count++;
    }
    if (count < this.#settlements.length) return this.#settlements.splice(0, count);
    const all = this.#settlements;
    this.#settlements = [];
    return all;
  }
}
