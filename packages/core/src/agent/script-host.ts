import type { PayloadSink, ScriptHost } from '../answer/index.js';
import type { Harness } from '../harness/index.js';
import {
  RunInterruption,
  type ApprovalPolicy,
  type ApprovalRequest,
  type EventPayload,
  type HarnessMode,
  type JsonObject,
  type LimitsInput,
  type Outcome,
  type OutputItem,
  type RunIdentity,
} from '../protocol/index.js';
import { present } from '../protocol/json.js';

/** The options for the scripts and calls of an agent's run. */
export interface RunConditions {
  readonly harness: Harness;
  readonly log: PayloadSink & { readonly identity: RunIdentity; readonly items: readonly OutputItem[] };
  readonly mode: HarnessMode;
  readonly limits: Partial<LimitsInput>;
  readonly approvals: ApprovalPolicy | undefined;
  readonly app: unknown;
  readonly principal: string | undefined;
  /** Members of the scripts' `context`. */
  readonly context: JsonObject;
  readonly signal: AbortSignal;
  readonly interruption: ScriptInterruption;
  readonly onOutcome: ((outcome: Outcome) => void) | undefined;
}

/** Runs an agent's scripts and calls in its harness, and emits their events to the run's log. */
export function hostOver(conditions: RunConditions, sourceDeltas: boolean): ScriptHost {
  const { harness, log, mode, context, onOutcome, interruption } = conditions;
  const { threadId, turnId } = log.identity;
  const shared = sharedOptions(conditions);
  return {
    async runScript({ source, language, item }, refusal) {
      const names = { mode, language, item, context, threadId, turnId, ...present({ refusal }) };
      const outcome = interruption.outcomeOf(await harness.runScript(source, { ...shared, ...names }));
      if (interruption.isInterrupted) markSuspended(conditions, outcome);
      onOutcome?.(outcome);
      return { outcome };
    },
    async callTool({ name, input, ...names }) {
      const operation = await harness.callTool(name, input, { ...shared, ...present(names), threadId, turnId });
      const { scriptId } = names;
      const pendingApprovals = scriptId === undefined ? undefined : interruption.settle();
      return pendingApprovals === undefined ? operation : { ...operation, ...present({ scriptId }), pendingApprovals };
    },
    detector: () => harness.detector({ sourceDeltas }),
  };
}

/** Sets the status of an interrupted script's item to `suspended`, as for a script whose own calls need decisions. */
export function markSuspended({ log }: RunConditions, { scriptId }: Outcome): void {
  const item = log.items.find((one) => one.type === 'script_execution' && one.script_id === scriptId);
  if (item !== undefined) log.emit({ type: 'item_update', item_id: item.id, changes: { status: 'suspended' } });
}

/** The options that a new script, a resumed script and a structured call share. */
export function sharedOptions({ log, approvals, principal, limits, app, signal: ofRun, interruption }: RunConditions) {
  const signal = AbortSignal.any([ofRun, interruption.signal]);
  return { ...present({ approvals, principal, limits }), app, signal, sink: log };
}

/** Events of an interrupted script that are dropped, because the script is recovered later. */
const WITHHELD = ['tool_call_start', 'tool_call_done', 'approval_requested', 'approval_resolved', 'script_log'];

/**
 * Interrupts the running script of a run whose sub-agents wait for decisions. The script stays in the store as after a
 * crash, and is recovered after the decisions. Its later events are dropped.
 */
export class ScriptInterruption {
  readonly #controller = new AbortController();
  #approvalIds: readonly string[] | undefined;
  #isSettled = false;

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** `approvalIds`: the approvals that the sub-agents wait for. */
  interrupt(approvalIds: readonly string[]): void {
    this.#approvalIds = approvalIds;
    this.#controller.abort(new RunInterruption());
  }

  /** Whether the run drops an event of the script. */
  readonly withholds = (payload: EventPayload): boolean => {
    if (this.#approvalIds === undefined || this.#isSettled) return false;
    if (payload.type === 'item_start') return payload.item_type === 'script_execution_output';
    if (payload.type === 'item_done') return payload.final_item.type === 'script_execution_output';
    return WITHHELD.includes(payload.type);
  };

  /**
   * Stops dropping events. Returns the approvals that the interrupted script or call waits for; undefined if nothing
   * was interrupted.
   */
  settle(): ApprovalRequest[] | undefined {
    if (this.#approvalIds === undefined) return undefined;
    this.#isSettled = true;
    // The requests belong to the scripts of the sub-agents, and the run reads only their ids.
    return this.#approvalIds.map((approvalId) => ({ approvalId }) as ApprovalRequest);
  }

  /** The outcome of a script for its run: suspended if the script was interrupted. */
  outcomeOf(outcome: Outcome): Outcome {
    const pendingApprovals = this.settle();
    if (pendingApprovals === undefined) return outcome;
    const { scriptId, operations, logs, output, diagnostics, plan, metadata } = outcome;
    const same = { scriptId, operations, logs, output, diagnostics, plan, metadata };
    return { ...same, status: 'suspended', suspension: '', pendingApprovals };
  }

  get isInterrupted(): boolean {
    return this.#approvalIds !== undefined;
  }
}
