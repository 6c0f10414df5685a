import fc from 'fast-check';
import { ERROR_TABLE, type ErrorCode, type Operation, type Outcome, type ScriptFailure } from '#core/protocol/index.js';

export type Completed = Extract<Outcome, { status: 'completed' }>;
export type Failed = Extract<Outcome, { status: 'failed' }>;
export type Suspended = Extract<Outcome, { status: 'suspended' }>;

const common = {
  scriptId: 'script_1',
  output: '',
  logs: [],
  operations: [],
  diagnostics: [],
  plan: [],
  metadata: {
    durationMs: 12,
    computeMs: 3,
    approvalWaitMs: 4,
    toolCallsMade: 2,
    memoryUsedMb: 1.5,
    cacheHit: true,
    compilationCacheHit: false,
    runtime: 'quickjs',
  },
} satisfies Partial<Outcome>;

export function completed(value: unknown, changes: Partial<Completed> = {}): Completed {
  return { ...common, status: 'completed', value, ...changes };
}

export function failed(error: Partial<ScriptFailure> = {}, changes: Partial<Failed> = {}): Failed {
  const failure: ScriptFailure = {
    code: 'ScriptRuntimeError',
    message: 'boom',
    phase: 'executing',
    retryable: true,
    metadata: {},
    ...error,
  };
  return { ...common, status: 'failed', error: failure, ...changes };
}

export function suspended(changes: Partial<Suspended> = {}): Suspended {
  return { ...common, status: 'suspended', suspension: 'sealed-bytes', pendingApprovals: [], ...changes };
}

export function operation(changes: Partial<Operation> = {}): Operation {
  return {
    callId: 'call_1',
    tool: 'readFile',
    input: { path: 'a.txt' },
    effect: 'read',
    status: 'completed',
    result: { content: 'x' },
    startedAtMs: 1,
    durationMs: 2,
    line: 3,
    ...changes,
  };
}

const text = fc.string({ unit: 'binary', maxLength: 60 });
/** Extreme UTF-16, with lone surrogates. */
const anyText = fc.oneof(
  text,
  fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 80 }).map((units) => String.fromCharCode(...units)),
);
const position = fc.option(fc.integer({ min: 1, max: 400 }), { nil: undefined });
const json = fc.jsonValue({ maxDepth: 3 });
const code = fc.constantFrom(...(Object.keys(ERROR_TABLE) as ErrorCode[]));

const anyOperation: fc.Arbitrary<Operation> = fc
  .record({
    callId: text,
    tool: text,
    input: json,
    effect: fc.constantFrom('read' as const, 'write' as const, 'external' as const),
    status: fc.constantFrom(
      'completed' as const,
      'failed' as const,
      'denied' as const,
      'aborted' as const,
      'unknown' as const,
      'not_started' as const,
      'awaiting_approval' as const,
      'detached' as const,
    ),
    result: fc.option(json, { nil: undefined }),
    resultOmitted: fc.option(fc.boolean(), { nil: undefined }),
    error: fc.option(fc.record({ code, message: anyText }), { nil: undefined }),
    startedAtMs: fc.nat(),
    durationMs: fc.nat(),
    line: position,
  })
  .map(({ result, resultOmitted, error, line, ...rest }) => ({
    ...rest,
    ...(result !== undefined && { result }),
    ...(resultOmitted !== undefined && { resultOmitted }),
    ...(error !== undefined && { error }),
    ...(line !== undefined && { line }),
  }));

const anyCommon = fc.record({
  output: anyText,
  logs: fc.array(
    fc.record({ level: fc.constantFrom('log' as const, 'error' as const), text: anyText, atMs: fc.nat() }),
    { maxLength: 4 },
  ),
  operations: fc.array(anyOperation, { maxLength: 40 }),
  diagnostics: fc.array(
    fc.record({
      severity: fc.constantFrom('error' as const, 'warning' as const, 'info' as const),
      message: anyText,
      code: text,
    }),
    { maxLength: 14 },
  ),
});

export const anyOutcome: fc.Arbitrary<Completed | Failed | Suspended> = fc.oneof(
  fc.tuple(fc.oneof(json, anyText, fc.constant(undefined)), anyCommon).map(([value, rest]) => completed(value, rest)),
  fc
    .tuple(
      fc.record({
        code,
        message: anyText,
        line: position,
        column: position,
        hint: fc.option(anyText, { nil: undefined }),
      }),
      anyCommon,
    )
    .map(([{ line, column, hint, ...error }, rest]) =>
      failed({ ...error, ...(line && { line }), ...(column && { column }), ...(hint !== undefined && { hint }) }, rest),
    ),
  anyCommon.map((rest) => suspended(rest)),
);
