import type { Outcome } from '@toolscript/core';

const MAX_SCRIPTS = 50;

/** The result of a script. */
interface PastScript {
  readonly scriptId: string;
  readonly status: Outcome['status'];
  readonly error?: string;
  readonly endedAt: string;
  readonly code: string;
  readonly operations: readonly { readonly tool: string; readonly status: string }[];
}

/** The last scripts of a gateway, newest last. */
export class PastScripts {
  readonly #scripts = new Map<string, PastScript>();

  /** A resumed script replaces its earlier entry. `code`: omitted if it is known. */
  add(outcome: Outcome, code?: string): void {
    const { scriptId, status, operations } = outcome;
    const known = this.#scripts.get(scriptId);
    this.#scripts.delete(scriptId);
    this.#scripts.set(scriptId, {
      scriptId,
      status,
      ...(outcome.status === 'failed' ? { error: outcome.error.message } : {}),
      endedAt: new Date().toISOString(),
      code: code ?? known?.code ?? '',
      operations: operations.map((operation) => ({ tool: operation.tool, status: operation.status })),
    });
    const [oldest] = this.#scripts.keys();
    if (this.#scripts.size > MAX_SCRIPTS) this.#scripts.delete(oldest!);
  }

  list(): readonly PastScript[] {
    return [...this.#scripts.values()];
  }
}
