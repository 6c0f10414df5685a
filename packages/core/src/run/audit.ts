import type { AuditEntry, AuditFact, AuditLog } from '../protocol/index.js';
import { present } from '../protocol/json.js';
import type { RunContext } from '../protocol/run-context.js';

/** Adds the time and the owner to the facts about calls, and passes the entries to the log of the host. */
export class Audit {
  readonly #log: AuditLog;
  readonly #onFailure: (detail: string) => void;

  constructor(log: AuditLog, onFailure: (detail: string) => void) {
    this.#log = log;
    this.#onFailure = onFailure;
  }

  /**
   * Returns the function that logs facts about the calls of one script. `scriptId`: undefined for a structured call that
   * no script makes.
   */
  scriptLog({ principal, sink: { identity } }: RunContext, scriptId: string | undefined): (fact: AuditFact) => void {
    return (fact) => {
      const at = new Date().toISOString();
      try {
        this.#log({ at, ...present({ scriptId, ...identity, principal, ...fact }) } as AuditEntry);
      } catch (error) {
        this.#onFailure(
          `The audit log failed, so an entry may be missing: ${String(error)}. Check the option audit of createHarness.`,
        );
      }
    };
  }
}
