import type { ScriptHost } from '../answer/index.js';
import type { Harness, ResumeOptions, RunOptions } from '../harness/index.js';
import {
  isInterruptedByStore,
  RunInterruption,
  StoreUnavailableError,
  type ApprovalRequest,
  type EventPayload,
  type HarnessMode,
  type Outcome,
  type ScriptOrigin,
} from '../protocol/index.js';
import { programScope, scriptOrigin } from '../history/index.js';
import { present } from '../protocol/json.js';
import { ReadTexts } from './read-texts.js';
import type { RunLog } from './run-log.js';

/** The conditions under which an agent's run makes its scripts and calls. */
export interface ScriptConditions {
  readonly harness: Harness;
  readonly log: RunLog;
  readonly mode: HarnessMode;
  /** The options that all scripts and calls share. Their signal also aborts at an interruption. */
  readonly options: RunOptions;
  readonly interruption: ScriptInterruption;
  readonly onOutcome: ((outcome: Outcome) => void) | undefined;
}

/** Runs an agent's scripts and calls in its harness, and emits their events to the run's log. */
export function hostOver(conditions: ScriptConditions, detect: Parameters<Harness['detector']>[0]): ScriptHost {
  const { harness, log, mode, options, onOutcome, interruption } = conditions;
  const { threadId, turnId } = log.identity;
  const read = new ReadTexts(() => log.items);
  const origin = () => (harness.guardsArguments ? runOrigin(log) : undefined);
  return {
    async runScript({ source, language, item }, refusal) {
      const repeatsReadText = read.repeats(source);
      const heap = harness.scripts === 'one-program' ? programScope(log.items).heap : undefined;
      const program = log.identity.parentRunId === undefined ? ('thread' as const) : ('own' as const);
      const script = {
        mode,
        language,
        item,
        threadId,
        turnId,
        refusal,
        repeatsReadText,
        origin: origin(),
        program,
        ...present({ heap }),
      };
      const outcome = settledOutcome(conditions, await harness.runScript(source, { ...options, ...script }));
      onOutcome?.(outcome);
      return { outcome };
    },
    async callTool({ name, input, ...names }) {
      const operation = await harness.callTool(name, input, {
        ...options,
        ...present(names),
        threadId,
        turnId,
        origin: origin(),
      });
      if (operation.isInterruptedByStore === true) throw new StoreUnavailableError(operation.error!.message);
      const { scriptId } = names;
      const pendingApprovals = scriptId === undefined ? undefined : interruption.settle();
      return pendingApprovals === undefined ? operation : { ...operation, ...present({ scriptId }), pendingApprovals };
    },
    detector: () => harness.detector(detect),
  };
}

/** The origin of a run's scripts. The task of a sub-agent is no text of a user. */
function runOrigin({ items, identity }: RunLog): ScriptOrigin {
  const origin = scriptOrigin(items);
  return identity.parentRunId === undefined ? origin : { ...origin, userTexts: [] };
}

/**
 * The outcome of a script for its run. Throws a `StoreUnavailableError` if the store of scripts has interrupted the
 * script: the run then has no last event, so that a host can recover it. An interrupted script and its item are suspended, as for a script whose own calls
 * need decisions.
 */
export function settledOutcome({ log, interruption }: ScriptConditions, ended: Outcome): Outcome {
  // defence: a-failing-store-stops-the-run
  if (ended.status === 'failed' && isInterruptedByStore(ended.error))
    throw new StoreUnavailableError(ended.error.message);
  const outcome = interruption.runOutcome(ended);
  if (!interruption.isInterrupted) return outcome;
  const { scriptId } = outcome;
  const item = log.items.find((one) => one.type === 'script_execution' && one.script_id === scriptId);
  if (item !== undefined) log.emit({ type: 'item_update', item_id: item.id, changes: { status: 'suspended' } });
  return outcome;
}

/** The options of a script that continues: it keeps the `context` of its start. */
export function resumeOptions({ options: { context: _context, ...options } }: ScriptConditions): ResumeOptions {
  return options;
}

/** Whether an event reports that the store of scripts has interrupted a script. The script continues later. */
export function reportsFailedStore(payload: EventPayload): boolean {
  if (payload.type !== 'item_done' || payload.final_item.type !== 'script_execution_output') return false;
  const { error } = payload.final_item;
  return error !== undefined && isInterruptedByStore(error);
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
  runOutcome(outcome: Outcome): Outcome {
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
