import type { HarnessMode, JsonObject, Limits, RunIdentity } from '../protocol/index.js';

export interface ContextFacts {
  scriptId: string;
  identity: RunIdentity;
  /** The host's own members, which override the defaults. */
  own: JsonObject;
  limits: Limits;
  mode: HarnessMode;
  approvalsRequired: boolean;
}

/** Writes the `context` that scripts read. The constant part is serialized once. */
export class ContextWriter {
  readonly #toolNames: readonly string[];
  readonly #endings = new WeakMap<Limits, Map<string, string>>();

  constructor(toolNames: readonly string[]) {
    this.#toolNames = toolNames;
  }

  /** JSON text. If a name occurs twice, the last member counts, so the host cannot override facts. */
  write({ scriptId, identity, own, limits, mode, approvalsRequired }: ContextFacts): string {
    const members = JSON.stringify({
      conversationId: identity.threadId,
      sessionId: identity.runId,
      turnId: identity.turnId,
      workingDirectory: '',
      provider: '',
      model: '',
      ...own,
      scriptId,
    });
    return `${members.slice(0, -1)},${this.#ending(limits, mode, approvalsRequired)}`;
  }

  #ending(limits: Limits, mode: HarnessMode, required: boolean): string {
    let endings = this.#endings.get(limits);
    if (endings === undefined) this.#endings.set(limits, (endings = new Map()));
    const key = `${mode} ${required}`;
    let ending = endings.get(key);
    if (ending === undefined) {
      const { timeoutMs, memoryMb, maxToolCalls: remainingToolBudget, maxConcurrentToolCalls } = limits;
      ending = JSON.stringify({
        sandbox: { timeoutMs, memoryMb, remainingToolBudget, maxConcurrentToolCalls, mode },
        capabilities: { tools: this.#toolNames },
        approvals: { required },
        telemetry: {},
      }).slice(1);
      endings.set(key, ending);
    }
    return ending;
  }
}
