import type { HarnessStore } from '../protocol/index.js';

export interface Holder {
  /** A name for users to read. */
  readonly owner: string;
  /** How long a store waits for a renewal before the claim expires. */
  readonly leaseMs: number;
}

/**
 * The claims that a harness holds in its store. It renews them three times in each lease and guarantees their release.
 * If the store fails, the next renewal retries. Its timer does not keep the process alive.
 */
export class Leases {
  readonly store: HarnessStore;
  readonly holder: Holder;
  /** By script: its epoch and the callback for a lost claim. */
  readonly #held = new Map<string, { epoch: number; onLost: () => void }>();
  /** By script: work to retry. */
  readonly #later = new Map<string, () => Promise<void>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(store: HarnessStore, holder: Holder) {
    this.store = store;
    this.holder = holder;
  }

  hold(scriptId: string, epoch: number, onLost: () => void): void {
    this.#held.set(scriptId, { epoch, onLost });
    this.#timer ??= setInterval(() => void this.#tick(), this.holder.leaseMs / 3).unref();
  }

  /** Never rejects. */
  async release(scriptId: string, epoch: number): Promise<void> {
    if (this.#held.get(scriptId)?.epoch === epoch) this.#held.delete(scriptId);
    await this.#orLater(scriptId, () => this.store.claim.release(scriptId, epoch));
    this.#rest();
  }

  /** Retries a failed final write until it succeeds, then releases the claim. */
  finishLater(scriptId: string, epoch: number, write: () => Promise<void>): void {
    this.#later.set(scriptId, async () => {
      await write();
      await this.release(scriptId, epoch);
    });
  }

  /** Retries the remaining work once. Never rejects. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all([...this.#later].map(([scriptId, act]) => this.#orLater(scriptId, act)));
  }

  async #tick(): Promise<void> {
    const held = [...this.#held].map(([scriptId, { epoch, onLost }]) => this.#renew(scriptId, epoch, onLost));
    const later = [...this.#later].map(([scriptId, act]) => this.#orLater(scriptId, act));
    await Promise.all([...held, ...later]);
    this.#rest();
  }

  /** If the store does not answer, the claim may still be held; the next append fails if another process holds it. */
  async #renew(scriptId: string, epoch: number, onLost: () => void): Promise<void> {
    const isOurs = await this.store.claim.renew(scriptId, epoch).catch(() => true);
    if (isOurs || this.#held.get(scriptId)?.epoch !== epoch) return;
    this.#held.delete(scriptId);
    onLost();
  }

  async #orLater(scriptId: string, act: () => Promise<void>): Promise<void> {
    try {
      this.#later.delete(scriptId);
      await act();
    } catch {
      this.#later.set(scriptId, act);
    }
  }

  #rest(): void {
    if (this.#held.size > 0 || this.#later.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
