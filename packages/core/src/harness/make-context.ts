import { payloadSink } from '../answer/index.js';
import type { Limits } from '../protocol/index.js';
import type { RunContext, RunOptions } from '../protocol/run-context.js';
import { resolveLimits, type HarnessOptions } from './options.js';

/** The members of a context that depend on the kind of the run. Default: a new sink, not in an answer. */
export interface RunKind
  extends
    Pick<RunContext, 'identity' | 'mode'>,
    Partial<Pick<RunContext, 'sink' | 'isInAnswer' | 'repeatsReadText' | 'origin' | 'live'>> {
  /** The number of the first event of the new sink. Default 0. */
  readonly nextSeq?: number | undefined;
}

/** Every member, so that a member without a value is an error of the compiler. */
type Complete<Members> = { [Name in keyof Required<Members>]: Members[Name] };

/** Makes the context of a run. `limits`: the limits of the harness. Throws a `ToolscriptUsageError` for wrong limits. */
export function makeContext(harness: HarnessOptions, limits: Limits, run: RunOptions, kind: RunKind): RunContext {
  const context: Complete<RunContext> = {
    identity: kind.identity,
    mode: kind.mode,
    sink: kind.sink ?? payloadSink(harness.onEvent, run, kind.identity, kind.nextSeq),
    isInAnswer: kind.isInAnswer ?? false,
    repeatsReadText: kind.repeatsReadText ?? false,
    origin: kind.origin,
    live: kind.live,
    limits: run.limits === undefined ? limits : resolveLimits(limits, run.limits),
    approvalExpiryMs: run.limits?.approvalTimeoutMs ?? harness.limits?.approvalTimeoutMs,
    approvals: run.approvals ?? harness.approvals,
    app: run.app,
    principal: run.principal,
    context: run.context ?? {},
    signal: run.signal,
    fence: run.fence,
    confirmHeld: run.confirmHeld,
  };
  return Object.freeze(context);
}
