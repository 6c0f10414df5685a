import type { Outcome, StreamEvent } from '@toolscript/core/protocol';
import { EXIT } from '../exit-status.js';

/** Counts how scripts ended. */
export class ScriptCount {
  /** Scripts that have an output. */
  scripts = 0;
  /** The suspended script, once it is stored. */
  suspendedScript: string | undefined;
  isSuspended = false;
  #failed = false;

  take({ payload }: StreamEvent): void {
    if (payload.type === 'response_error') this.#failed = true;
    if (payload.type === 'item_update') this.isSuspended = payload.changes['status'] === 'suspended';
    if (payload.type === 'response_done' && payload.script_id !== undefined) this.suspendedScript = payload.script_id;
    if (payload.type !== 'item_done' || payload.final_item.type !== 'script_execution_output') return;
    this.scripts += 1;
    if (payload.final_item.status === 'failed') this.#failed = true;
  }

  /** The end of a script outside of an answer. */
  takeOutcome({ status, scriptId }: Outcome): void {
    if (status === 'failed') this.#failed = true;
    if (status === 'suspended') this.suspendedScript ??= scriptId;
  }

  get status(): number {
    if (this.#failed) return EXIT.failed;
    return this.suspendedScript === undefined && !this.isSuspended ? EXIT.completed : EXIT.suspended;
  }
}
