import type { HarnessStore } from '../protocol/index.js';

export interface Holder {
  /** For people to read. */
  readonly owner: string;
  /** For how long a store believes in this process without hearing from it. */
  readonly leaseMs: number;
}

/**
 * The claims that a harness holds in its store: renews them three times in each lease, and lets them go for certain.
 * What a store fails at is tried again at the next renewal. Its timer holds no process open.
 */
export class Leases {
  readonly store: HarnessStore;
  readonly holder: Holder;
  /** By script, what to do when somebody else has it. */
  readonly #held = new Map<string, { epoch: number; onLost: () => void }>();
  /** By script, what could not be done. */
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

  /** What could not be written at the end of a script: tried again until it is, before the claim is let go. */
  finishLater(scriptId: string, epoch: number, write: () => Promise<void>): void {
    this.#later.set(scriptId, async () => {
      await write();
      await this.release(scriptId, epoch);
    });
  }

  /** What is left is tried once more. Never rejects. */
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

  /** A store that does not answer has not said that the claim is lost: the next append finds out. */
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
