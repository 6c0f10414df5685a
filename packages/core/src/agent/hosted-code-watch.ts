import { containerHolder, CONTAINER_LOST, hostedCodeIn, type HostedCode, type OutputItem } from '../protocol/index.js';
import type { ProviderFailure } from '../answer/index.js';
import { newId } from '../text/crypto.js';
import type { RunLog } from './run-log.js';

const LOST_MESSAGE =
  'The provider’s code did not finish and cannot be resumed: its container ended, or the conversation continued without the result of the code. The completed calls of the code took effect. The model reads the results of these calls, and new code starts in a new container.';

/** Follows the code that the provider runs in a conversation, and reports code that is lost. */
export class HostedCodeWatch {
  readonly #log: RunLog;
  readonly #api: string;
  readonly #isOffered: boolean;

  constructor(log: RunLog, api: string, isOffered: boolean) {
    this.#log = log;
    this.#api = api;
    this.#isOffered = isOffered;
  }

  /**
   * Whether code waits for the results of its calls. If so, a request may contain only these results after the answer.
   */
  get waits(): boolean {
    return this.#read().waiting.length > 0;
  }

  /** Marks the code that has been lost since the last request, and reports the loss to users. */
  reportLost(): void {
    for (const code of this.#read().lost) {
      if (code.lost === true) continue;
      this.#log.emit({ type: 'item_update', item_id: code.id, changes: { lost: true } });
      this.#report(LOST_MESSAGE);
    }
  }

  /**
   * Handles the failure that the provider no longer has a container: drops the container and marks the waiting code as
   * lost. Returns false for any other failure, or if no item names a container.
   */
  takeFailure({ code, message }: ProviderFailure): boolean {
    const holder = code === CONTAINER_LOST ? containerHolder(this.#items) : undefined;
    if (holder === undefined) return false;
    const { waiting } = this.#read();
    this.#log.emit({ type: 'item_update', item_id: holder.id, changes: { container: null } });
    for (const { id } of waiting) this.#log.emit({ type: 'item_update', item_id: id, changes: { lost: true } });
    this.#report(message);
    return true;
  }

  #report(message: string): void {
    this.#log.emit({ type: 'item_error', item_id: newId('item'), code: CONTAINER_LOST, message });
  }

  #read(): HostedCode {
    return hostedCodeIn(this.#items, { api: this.#api, isOffered: this.#isOffered, now: Date.now() });
  }

  get #items(): readonly OutputItem[] {
    return this.#log.conversation();
  }
}
