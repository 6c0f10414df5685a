import { DEFAULT_LIMITS, type Limits } from '#core/protocol/limits.js';
import type { RunContext } from '../../src/protocol/run-context.js';

/** A run's context for a test of one stage. Nobody receives its events. */
export function contextWith({
  limits,
  ...changes
}: Partial<Omit<RunContext, 'limits'>> & { limits?: Partial<Limits> | undefined } = {}): RunContext {
  const identity = { runId: 'run_1', threadId: 'thr_1', turnId: 'turn_1' };
  return Object.freeze({
    identity,
    principal: undefined,
    app: undefined,
    context: {},
    mode: 'enabled',
    limits: { ...DEFAULT_LIMITS, ...limits },
    approvals: undefined,
    approvalExpiryMs: undefined,
    signal: undefined,
    sink: { emit: () => undefined, hasListeners: false, nextSeq: 0, identity },
    isInAnswer: false,
    repeatsReadText: false,
    live: undefined,
    origin: undefined,
    ...changes,
  });
}
