import {
  ERROR_TABLE,
  interruptedByStore,
  scriptFailure,
  type CompiledScript,
  type ErrorCode,
  type GuestThrow,
  type Limits,
  type SandboxEnd,
  type ScriptFailure,
  type ScriptPosition,
} from '../../protocol/index.js';
import { busyFailure } from '../../protocol/busy-failure.js';
import { codeFrame } from '../../text/code-frame.js';
import { missingNameAdvice } from '../../text/missing-names.js';
import { mapGuestStack, placeText, type MappedStack } from './guest-stack.js';

/** A call that was rejected, as the session recorded it. */
export interface RejectedCall {
  code: ErrorCode;
  message: string;
  toolName: string;
  callId: string;
  position: ScriptPosition | undefined;
}

/** `full`: the script's journal has its maximum size. `taken`: another process has claimed the script. */
export type Unwritten = 'failed' | 'full' | 'taken';

export interface FailureSources {
  script: CompiledScript;
  limits: Limits;
  rejectedCall(callIndex: number): RejectedCall | undefined;
  /** The code with which the host rejected a call. */
  readonly rejectionCode: (callIndex: number) => string | undefined;
  /** Why a tool may be missing; undefined if nothing is known. */
  readonly whyMissing: (name: string) => string | undefined;
  /** The names of the tools that the script has. */
  readonly toolNames: readonly string[];
  /** The number of calls to `sleep`, timers, `catalog` and `tools.spawn` that the script has made. */
  readonly builtinCalls: () => number;
  /** The reason why the journal could not be written, if the failed write ended the script. */
  readonly unwritten: Unwritten | undefined;
  facts: { elapsedMs: number; completedTools: number; pendingTools: number };
}

const DAMAGED_HEAP =
  'The variables of earlier scripts cannot be restored from their stored data, so the script did not continue. Run it without `heap` to start a new program.';

type FailingEnd = Exclude<SandboxEnd, { type: 'returned' }>;

/**
 * Returns the failure of a run with this end. The host's records decide the code; the guest's text is used only for the
 * message.
 */
export function endFailure(end: FailingEnd, sources: FailureSources): ScriptFailure {
  const { limits, facts } = sources;
  switch (end.type) {
    case 'threw':
      return thrownFailure(end.error, sources);
    case 'limit':
      return limitFailure(end, sources);
    case 'cancelled':
      if (end.reason === 'timeout') return timeoutFailure('wall', sources);
      return scriptFailure('ScriptCancelledError', 'The run was cancelled.', { metadata: facts });
    case 'unserializable':
      return scriptFailure('SerializationError', valueFault(end, limits), { metadata: { path: end.path, ...facts } });
    case 'return_too_large':
      return scriptFailure('SerializationError', valueFault(end, limits), {
        hint: 'Return a summary: counts, the first few entries, or only the fields that matter.',
        metadata: { bytes: end.bytes, largestKeys: end.largestKeys, head: end.head, ...facts },
      });
    case 'stalled':
      return stalledFailure(end, sources);
    case 'syntax':
      return withFrame(
        scriptFailure('ScriptSyntaxError', cleanMessage(end.message)),
        sources.script.originalPosition(end.line, 1),
        sources.script,
      );
    case 'busy':
      return busyFailure('sandbox', end.waitedMs);
    case 'unrestorable':
      if (sources.script.topLevel !== undefined)
        return scriptFailure('HeapNotFoundError', DAMAGED_HEAP, { metadata: facts });
      return scriptFailure(
        'SuspensionError',
        'This process cannot restore the suspended script from its stored data. Resume the script with the release of Toolscript and the runtime that started it.',
        {
          metadata: facts,
        },
      );
    case 'internal':
      if (sources.unwritten !== undefined) return unwrittenFailure(sources.unwritten, facts);
      return scriptFailure(
        'HarnessInternalError',
        'Toolscript itself failed while it ran the script. Its host receives the cause.',
        {
          metadata: facts,
        },
      );
  }
}

/** Returns the failure of a script that is interrupted, as if its process had ended. */
function unwrittenFailure(why: Unwritten, facts: FailureSources['facts']): ScriptFailure {
  switch (why) {
    case 'taken':
      return scriptFailure(
        'StoreError',
        'Another process has resumed this script, so the script ended in this process. Read its outcome in the other process.',
        { metadata: facts },
      );
    case 'full':
      return scriptFailure(
        'ScriptMemoryError',
        "The script's stored results have reached their maximum size. Handle the data in smaller parts, in several scripts.",
        { metadata: facts },
      );
    case 'failed':
      return interruptedByStore(
        'The store of scripts failed, so the script was interrupted. Its completed calls took effect. It can continue when the store accepts writes again.',
        { metadata: facts },
      );
  }
}

/**
 * Returns the failure of a script that waits for a promise that never settles. A timer over the limit of built-in calls
 * may be the cause, because the script cannot catch the rejection of a timer.
 */
function stalledFailure({ unhandled = [] }: Extract<SandboxEnd, { type: 'stalled' }>, sources: FailureSources) {
  const refused = unhandled.find((thrown) => ownCode(thrown, sources) === 'ToolBudgetExceededError');
  if (refused !== undefined) return thrownFailure(refused, sources);
  return scriptFailure('ScriptRuntimeError', 'The script waits for a promise that nothing will settle.', {
    hint: 'Only calls to tools, sleep() and catalog settle by themselves. Resolve every `new Promise` in the script.',
    metadata: sources.facts,
  });
}

function thrownFailure(error: GuestThrow, sources: FailureSources): ScriptFailure {
  const { script, facts } = sources;
  const call = error.callIndex === undefined ? undefined : sources.rejectedCall(error.callIndex);
  if (call !== undefined) {
    const failure = scriptFailure(call.code, call.message, {
      toolName: call.toolName,
      callId: call.callId,
      stack: stackText(call.code, call.message, callFrame(call)),
      metadata: facts,
    });
    return withFrame(failure, call.position, script);
  }
  const own = ownCode(error, sources);
  const reason = own === 'ToolNotFoundError' ? sources.whyMissing(missingNameIn(error.message)) : undefined;
  const message =
    reason ?? (own === undefined && error.name !== '' ? `${publicName(error.name)}: ${error.message}` : error.message);
  const mapped = thrownPlace(error, script);
  const inSaved =
    mapped.saved && `The error is in line ${mapped.saved.line} of the saved script ${mapped.saved.saved}.`;
  const hint =
    hintForMissingName(error.name, error.message) ??
    hintForBudget(own, sources) ??
    hintForNamespace(error, sources) ??
    inSaved;
  const failure = scriptFailure(
    own ?? 'ScriptRuntimeError',
    message === '' ? 'The script threw a value without a message. Throw an Error with a message.' : message,
    {
      stack: stackText(error.name, error.message, mapped.text),
      hint,
      metadata: facts,
    },
  );
  return withFrame(failure, mapped.position, script);
}

/** The frame of a rejected call; empty if the call's position is unknown. */
export function callFrame({ toolName, position }: Pick<RejectedCall, 'toolName' | 'position'>): string {
  return position === undefined ? '' : `    at ${toolName} (${placeText(position)})`;
}

/** Returns the replacement for the unknown name of a ReferenceError. */
function hintForMissingName(errorName: string, message: string): string | undefined {
  const name = errorName === 'ReferenceError' ? /^'?([\w$]+)'? is not defined/u.exec(message)?.[1] : undefined;
  return name === undefined ? undefined : missingNameAdvice(name);
}

/** Returns a hint with the limit that refused a call in the guest. */
function hintForBudget(code: ErrorCode | undefined, { limits, builtinCalls }: FailureSources): string | undefined {
  if (code !== 'ToolBudgetExceededError') return undefined;
  const { maxBuiltinCalls, maxToolCalls } = limits;
  if (builtinCalls() < maxBuiltinCalls)
    return `The limit is maxToolCalls (${maxToolCalls}). Make fewer calls. The host can raise limits.maxToolCalls.`;
  return `The limit is maxBuiltinCalls (${maxBuiltinCalls}). Request more at once, or wait longer each time. The host can raise limits.maxBuiltinCalls.`;
}

/**
 * Converts the engine's own error name `InternalError`, for an exceeded limit of the engine, to the standard name
 * `RangeError`.
 */
function publicName(name: string): string {
  return name === 'InternalError' ? 'RangeError' : name;
}

/** The engine's messages about destructuring null or undefined, and the kind of pattern in the script. */
const DESTRUCTURED: Readonly<Record<string, 'object' | 'array'>> = {
  'Cannot convert undefined or null to object': 'object',
  "cannot read property 'Symbol.iterator' of null": 'array',
  "cannot read property 'Symbol.iterator' of undefined": 'array',
};

/**
 * Returns the position of an error. The engine records no position for destructuring (`const { a } = x`): its trace
 * names the last call before the pattern. In this case, the next pattern of the same kind is the position; if the
 * source has no such pattern, the trace is correct.
 */
function thrownPlace({ name, message, stack }: GuestThrow, script: CompiledScript): MappedStack {
  const mapped = mapGuestStack(stack, script);
  const kind = name === 'TypeError' && Object.hasOwn(DESTRUCTURED, message) ? DESTRUCTURED[message] : undefined;
  if (kind === undefined) return mapped;
  if (mapped.saved !== undefined) return mapped;
  const { line: fromLine, column: fromColumn } = mapped.position ?? { line: 1, column: 1 };
  const meant = script.patterns.find(
    (pattern) =>
      pattern.kind === kind && (pattern.line > fromLine || (pattern.line === fromLine && pattern.column >= fromColumn)),
  );
  if (meant === undefined) return mapped;
  return {
    position: { line: meant.line, column: meant.column },
    saved: undefined,
    text: `    at (script.ts:${meant.line}:${meant.column})`,
  };
}

/** The reason why `tools.mcp` is undefined, for a script that reads a member of something undefined. */
function hintForNamespace({ message }: GuestThrow, { script, toolNames, whyMissing }: FailureSources) {
  const isAbsent = !toolNames.some((name) => name.startsWith('mcp.'));
  return isAbsent && /undefined/u.test(message) && /\bmcp\b/u.test(script.source) ? whyMissing('mcp') : undefined;
}

/** The name in the guest's sentence about a tool that it does not have. */
const missingNameIn = (message: string) => /^There is no tool tools\.(\S+)\. /u.exec(message)?.[1] ?? '';

/** Errors that the guest's bridge creates itself, before any call reaches the host. */
const MADE_IN_THE_GUEST: ReadonlySet<string> = new Set<ErrorCode>(['ToolNotFoundError', 'ToolBudgetExceededError']);

/**
 * Returns the code of a thrown error. The guest reports only which call was rejected; the host knows how that call
 * ended.
 */
function ownCode({ callIndex, code }: GuestThrow, sources: FailureSources): ErrorCode | undefined {
  // defence: host-knows-the-code
  if (callIndex === undefined)
    return code !== undefined && MADE_IN_THE_GUEST.has(code) ? (code as ErrorCode) : undefined;
  const hostCode = sources.rejectionCode(callIndex);
  return hostCode !== undefined && Object.hasOwn(ERROR_TABLE, hostCode) ? (hostCode as ErrorCode) : undefined;
}

function limitFailure(end: Extract<SandboxEnd, { type: 'limit' }>, sources: FailureSources): ScriptFailure {
  const { limits, script, facts } = sources;
  const position = end.error === undefined ? undefined : mapGuestStack(end.error.stack, script).position;
  switch (end.limit) {
    case 'memory':
      return withFrame(
        scriptFailure('ScriptMemoryError', `The script needed more than its ${limits.memoryMb} MiB of memory.`, {
          hint: 'Handle the data in smaller parts. The host can raise limits.memoryMb.',
          metadata: facts,
        }),
        position,
        script,
      );
    case 'stack':
      return withFrame(
        scriptFailure(
          'ScriptStackError',
          `The script recursed deeper than its stack of ${limits.maxStackBytes} bytes.`,
          { hint: 'Use a loop instead of recursion. The host can raise limits.maxStackBytes.', metadata: facts },
        ),
        position,
        script,
      );
    case 'compute':
    case 'wall':
      return timeoutFailure(end.limit, sources);
  }
}

function timeoutFailure(clock: 'wall' | 'compute', { limits, facts }: FailureSources): ScriptFailure {
  const message =
    clock === 'compute'
      ? `The script computed for longer than its limit of ${limits.computeMs} ms.`
      : `The script and its tools ran for longer than ${limits.timeoutMs} ms.`;
  const hint = `Do less in one script. The host can raise limits.${clock === 'compute' ? 'computeMs' : 'timeoutMs'}.`;
  return scriptFailure('ScriptTimeoutError', message, { hint, metadata: { clock, ...facts } });
}

/** Returns the reason why a value cannot be returned. */
export function valueFault(
  end: Extract<SandboxEnd, { type: 'unserializable' | 'return_too_large' }>,
  { maxReturnBytes }: Limits,
): string {
  if (end.type === 'unserializable')
    return `The script's value cannot be represented as JSON: ${end.path} is ${end.reason}.`;
  const largest = end.largestKeys.length === 0 ? '' : ` Largest: ${end.largestKeys.join(', ')}.`;
  return `The script's value is ${end.bytes} bytes of JSON; at most ${maxReturnBytes} can be returned.${largest}`;
}

function stackText(name: string, message: string, frames: string): string | undefined {
  return frames === '' ? undefined : `${[name, message].filter((part) => part !== '').join(': ')}\n${frames}`;
}

function withFrame(
  failure: ScriptFailure,
  position: ScriptPosition | undefined,
  script: CompiledScript,
): ScriptFailure {
  if (position === undefined || position.saved !== undefined) return failure;
  return {
    ...failure,
    line: position.line,
    column: position.column,
    frame: codeFrame(script.source, position.line, position.column),
  };
}

function cleanMessage(message: string): string {
  return message.replace(/^SyntaxError: /u, '');
}
