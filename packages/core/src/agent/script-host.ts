import type { PayloadSink, ScriptHost } from '../answer/index.js';
import type { Harness } from '../harness/index.js';
import type { ApprovalPolicy, HarnessMode, JsonObject, LimitsInput, Outcome, RunIdentity } from '../protocol/index.js';
import { present } from '../protocol/present.js';

/** The options for the scripts and calls of an agent's run. */
export interface RunConditions {
  readonly harness: Harness;
  readonly log: PayloadSink & { readonly identity: RunIdentity };
  readonly mode: HarnessMode;
  readonly limits: Partial<LimitsInput>;
  readonly approvals: ApprovalPolicy | undefined;
  readonly app: unknown;
  readonly principal: string | undefined;
  /** Members of the scripts' `context`. */
  readonly context: JsonObject;
  readonly signal: AbortSignal;
  readonly onOutcome: ((outcome: Outcome) => void) | undefined;
}

/** Runs an agent's scripts and calls in its harness, and emits their events to the run's log. */
export function hostOver(conditions: RunConditions, sourceDeltas: boolean): ScriptHost {
  const { harness, log, mode, context, onOutcome } = conditions;
  const { threadId, turnId } = log.identity;
  const shared = sharedOptions(conditions);
  return {
    async runScript({ source, language, item }, refusal) {
      const names = { mode, language, item, context, threadId, turnId, ...present({ refusal }) };
      const outcome = await harness.runScript(source, { ...shared, ...names });
      onOutcome?.(outcome);
      return { outcome };
    },
    callTool: ({ name, input, ...names }) =>
      harness.callTool(name, input, { ...shared, ...present(names), threadId, turnId }),
    detector: () => harness.detector({ sourceDeltas }),
  };
}

/** The options that a new script, a resumed script and a structured call share. */
export function sharedOptions({ log, approvals, principal, limits, app, signal }: RunConditions) {
  return { ...present({ approvals, principal, limits }), app, signal, sink: log };
}
