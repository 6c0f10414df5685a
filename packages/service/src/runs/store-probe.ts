import { StoreUnavailableError } from '@toolscript/core/ports';
import type { EventLog, HarnessStore, ServiceStores } from '@toolscript/core/protocol';

/** The time for which the result of a probe counts, in ms. */
const PROBE_MS = 1_000;

export interface ProbedStores {
  readonly stores: Pick<ServiceStores, 'runs'>;
  readonly log: EventLog;
  readonly scripts: HarnessStore;
}

/** Finds out by a write whether the stores of a service can be written, at most once a second for all callers. */
export class StoreProbe {
  readonly #stores: ProbedStores;
  #result: Promise<void> | undefined;
  /** The monotonic time at which the last probe ended. Undefined during a probe. */
  #endedAt: number | undefined;

  constructor(stores: ProbedStores) {
    this.#stores = stores;
  }

  /** Rejects with a `StoreUnavailableError` if one of the stores cannot be written. */
  check(): Promise<void> {
    const isOver = this.#endedAt !== undefined && performance.now() - this.#endedAt >= PROBE_MS;
    if (this.#result === undefined || isOver) return this.again();
    return this.#result;
  }

  /** Checks now, whatever an earlier probe has found. */
  again(): Promise<void> {
    return (this.#result = this.#write());
  }

  /** Makes the failure of another write the result of the last probe. */
  fail(fault: Error): void {
    this.#result = Promise.reject(fault);
    this.#result.catch(() => {});
    this.#endedAt = performance.now();
  }

  async #write(): Promise<void> {
    this.#endedAt = undefined;
    const { stores, log, scripts } = this.#stores;
    const ofScripts = scripts.probe?.().catch((error: Error) => {
      throw new StoreUnavailableError(`The store of scripts cannot be written: ${error.message}`);
    });
    try {
      await Promise.all([stores.runs.probe(), log.probe(), ofScripts]);
    } finally {
      this.#endedAt = performance.now();
    }
  }
}
