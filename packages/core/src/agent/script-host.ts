import type { PayloadSink, ScriptHost } from '../answer/index.js';
import type { Harness } from '../harness/index.js';
import type {
  ApprovalPolicy,
  HarnessMode,
  JsonObject,
  LimitsInput,
  Outcome,
  OutputItem,
  RunIdentity,
} from '../protocol/index.js';
import { present } from '../protocol/present.js';
import type { ScriptInterruption } from './script-interruption.js';

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

/** Sets the status of an interrupted script's item to `suspended`, as for a script that waits for its own decisions. */
export function markSuspended({ log }: RunConditions, { scriptId }: Outcome): void {
  const item = log.items.find((one) => one.type === 'script_execution' && one.script_id === scriptId);
  if (item !== undefined) log.emit({ type: 'item_update', item_id: item.id, changes: { status: 'suspended' } });
}

/** The options that a new script, a resumed script and a structured call share. */
export function sharedOptions({ log, approvals, principal, limits, app, signal: ofRun, interruption }: RunConditions) {
  const signal = AbortSignal.any([ofRun, interruption.signal]);
  return { ...present({ approvals, principal, limits }), app, signal, sink: log };
}
