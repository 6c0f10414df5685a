import type { HarnessStore, Operation, Settlement } from '../protocol/index.js';
import type { Delivery, ScriptJournal, ScriptStart } from '../session/index.js';
import type { EndedCall } from '../tools/index.js';
import { withoutResult } from './call-results.js';
import type { JournalLine, StartedLine } from './journal-lines.js';

/**
 * Writes one script's journal to a store. Nothing is written for a script that does nothing but read: what it
 * has said so far is held back until it is about to change something, or ends otherwise than well.
 */
export class StoreJournal implements ScriptJournal {
  readonly isKept = true;
  readonly #store: HarnessStore;
  readonly #scriptId: string;
  readonly #about: Omit<StartedLine, 't' | 'start'>;
  #epoch: number;
  #lines: string[] = [];
  #isOpen: boolean;
  #opening: Promise<void> | undefined;
  /** The last append, where it is under way. */
  #appending: Promise<void> | undefined;
  #failure: { readonly error: unknown } | undefined;
  #hasWritten: boolean;

  /** `epoch`: that was taken already; 0 where the script is new. */
  constructor(store: HarnessStore, scriptId: string, epoch: number, about: Omit<StartedLine, 't' | 'start'>) {
    this.#store = store;
    this.#scriptId = scriptId;
    this.#about = about;
    this.#epoch = epoch;
    this.#isOpen = epoch > 0;
    this.#hasWritten = epoch > 0;
  }

  get epoch(): number {
    return this.#epoch;
  }

  started(start: ScriptStart): void {
    this.#lines = [];
    // A journal of which nothing is kept may begin again.
    if (!this.#hasWritten) this.#failure = undefined;
    this.#push({ t: 'started', start, ...this.#about });
  }

  intended(callIndex: number, operation: Operation): void | Promise<void> {
    if (operation.effect === 'read') return;
    this.#push({ t: 'intent', callIndex, operation });
    return this.#write();
  }

  finished(call: EndedCall, settlement: Settlement): void | Promise<void> {
    this.#push({ t: 'finished', settlement, ended: withoutResult(call) });
    return this.#isOpen || this.#opening !== undefined ? this.#write() : undefined;
  }

  delivered({ ended, ...delivery }: Delivery): void | Promise<void> {
    this.#push({ t: 'delivered', ...delivery, ended: ended.map((call) => withoutResult(call)) });
    return this.#isOpen || this.#opening !== undefined ? this.#write() : undefined;
  }

  /** The script is this process's; its epoch is known. */
  async opened(): Promise<void> {
    this.#opening ??= this.#isOpen ? Promise.resolve() : this.#open();
    await this.#opening;
  }

  made(calls: Delivery['calls']): void {
    if (calls.length > 0) this.#push({ t: 'made', calls });
  }

  /** Survives a power cut when it is done. */
  async suspended(line: Omit<Extract<JournalLine, { t: 'suspended' }>, 't'>): Promise<void> {
    this.#push({ t: 'suspended', ...line });
    await this.#write(true);
    await this.#store.claim.release(this.#scriptId, this.#epoch);
  }

  async resumed(line: Omit<Extract<JournalLine, { t: 'resumed' }>, 't'>): Promise<void> {
    this.#push({ t: 'resumed', ...line });
    await this.#write();
  }

  /** A script that ended well and wrote nothing before leaves nothing. */
  async ended(line: Omit<Extract<JournalLine, { t: 'ended' }>, 't'>): Promise<void> {
    if (line.status === 'completed' && !this.#isOpen && this.#opening === undefined) return;
    this.#push({ t: 'ended', ...line });
    await this.#write();
    await this.#store.claim.release(this.#scriptId, this.#epoch);
  }

  /** The script is cut off here: somebody may recover it. */
  async letGo(): Promise<void> {
    if (!this.#isOpen && this.#opening === undefined) return;
    await this.#write();
    await this.#store.claim.release(this.#scriptId, this.#epoch);
  }

  #push(line: JournalLine): void {
    this.#lines.push(JSON.stringify(line));
  }

  #write(flush = false): void | Promise<void> {
    if (!this.#isOpen) {
      this.#opening ??= this.#open();
      return this.#opening.then(() => this.#append(flush));
    }
    return this.#append(flush);
  }

  /** After an append that failed there is none: a journal that lacks lines in its middle tells something else. */
  #append(flush: boolean): void | Promise<void> {
    if (this.#failure !== undefined) throw this.#failure.error;
    const lines = this.#lines;
    this.#lines = [];
    // Its lines went with an append that is under way.
    if (lines.length === 0 && !flush) return this.#appending;
    let written: void | Promise<void>;
    try {
      written = this.#store.journal.append(this.#scriptId, this.#epoch, lines, { flush });
    } catch (error) {
      this.#failure = { error };
      throw error;
    }
    if (written === undefined) {
      this.#hasWritten = true;
      return;
    }
    this.#appending = written.then(
      () => {
        this.#hasWritten = true;
      },
      (error: unknown) => {
        this.#failure ??= { error };
        throw error;
      },
    );
    return this.#appending;
  }

  async #open(): Promise<void> {
    if (!(await this.#store.claim.take(this.#scriptId, 0))) throw new Error(`${this.#scriptId} is taken already`);
    this.#epoch = 1;
    this.#isOpen = true;
  }
}
