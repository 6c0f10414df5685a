import type { EventPayload, Limits, Operation, Outcome, StreamEvent } from '@toolscript/core';
import type { HostRecord } from './fuzz-tools.js';
import { callLines, compareCalls, type SeenCall } from './oracle.js';
import { readRecord } from './script-record.js';
import type { ThreadMemory } from './thread-memory.js';

/** All data of one script that a host observes, and the script's own data. */
export interface SeenRun {
  readonly source: string;
  /** True: the source contains scripts of the corpus, whose calls do not describe themselves. */
  readonly isForeign: boolean;
  readonly limits: Limits;
  readonly outcome: Outcome;
  readonly events: readonly StreamEvent[];
  readonly host: HostRecord;
  readonly thread: ThreadMemory;
}

/** Calls beyond the budget that the guest still sends, so that the host refuses them. */
const CALL_MARGIN = 100;
/** The mark of truncated output. */
const NOTE_BYTES = 100;

/** Violations of the host's guarantees; empty for a sound harness. */
export function judgeRun(run: SeenRun): string[] {
  return [
    ...run.host.violations,
    ...judgeOutcome(run),
    ...judgeEvents(run),
    ...judgeBytes(run),
    ...judgeLimits(run),
    ...judgeCalls(run),
  ];
}

function judgeOutcome({ outcome, events }: SeenRun): string[] {
  const code = outcome.status === 'failed' ? outcome.error.code : outcome.status;
  const faults = ['HarnessInternalError', 'HarnessBusyError', 'suspended'].includes(code) ? [`it ends as ${code}`] : [];
  const outputs = events.filter(
    ({ payload }) => payload.type === 'item_done' && payload.final_item.type === 'script_execution_output',
  );
  if (outputs.length !== 1) faults.push(`its outcome is told ${outputs.length} times`);
  for (const [index, { seq }] of events.entries())
    if (seq !== index) return [...faults, `event ${index} has seq ${seq}`];
  return faults;
}

type PayloadOf<Type extends EventPayload['type']> = Extract<EventPayload, { type: Type }>;

function payloadsOf<Type extends EventPayload['type']>(events: readonly StreamEvent[], type: Type) {
  return events.map(({ payload }) => payload).filter((payload): payload is PayloadOf<Type> => payload.type === type);
}

/** Every operation starts at most once, in the order of the calls, ends once, and has its start before its end. */
function judgeEvents({ outcome, events, host }: SeenRun): string[] {
  const faults: string[] = [];
  const started = payloadsOf(events, 'tool_call_start').map(({ call_id }) => call_id);
  const done = payloadsOf(events, 'tool_call_done').map(({ call_id }) => call_id);
  const ids = outcome.operations.map(({ callId }) => callId);
  if (!isRising(ids)) faults.push('the operations do not stand in the order of their calls');
  const unasked = started.filter((callId) => !host.asked.has(callId));
  if (!isRising(unasked.filter((callId) => !/inner|danger/u.test(toolOf(outcome, callId)))))
    faults.push('calls that ask nobody do not start in their order');
  for (const [what, list] of [
    ['started', started],
    ['done', done],
  ] as const)
    if (new Set(list).size !== list.length) faults.push(`a call is ${what} twice`);
  if (!isSameSet(started, [...host.executed.keys()])) faults.push('other calls started than were executed');
  // A detached task may end after its script.
  const ended = outcome.operations.filter(({ status }) => status !== 'detached').map(({ callId }) => callId);
  if (
    !isSameSet(
      ended,
      done.filter((callId) => ended.includes(callId)),
    )
  )
    faults.push('an operation has not ended once');
  for (const callId of host.executed.keys())
    if (toolOf(outcome, callId) === 'danger') faults.push(`the call ${callId} was denied, and was executed`);
  return faults;
}

function toolOf({ operations }: Outcome, callId: string): string {
  return operations.find((operation) => operation.callId === callId)?.tool ?? '';
}

/** The bytes that were approved, or that needed no approval, are those of the tool, the operation and the events. */
function judgeBytes({ outcome, events, host }: SeenRun): string[] {
  const faults: string[] = [];
  const expectBytes = (where: string, callId: string, seen: string | undefined, due: string | undefined) => {
    if (due !== undefined && seen !== undefined && seen !== due)
      faults.push(`of the call ${callId} ${where} has ${seen.slice(0, 200)} instead of ${due.slice(0, 200)}`);
  };
  const requested = new Map(
    payloadsOf(events, 'approval_requested').map(({ approval }) => [approval.call_id, approval]),
  );
  for (const [callId, shown] of host.asked) {
    expectBytes('the event of the request', callId, requested.get(callId)?.input_json, shown);
    if (host.executed.has(callId) && !host.approved.has(callId)) faults.push(`the call ${callId} ran without approval`);
  }
  for (const [callId, executed] of host.executed) expectBytes('its tool', callId, executed, host.approved.get(callId));
  for (const { call_id, input } of payloadsOf(events, 'tool_call_start'))
    expectBytes('the event of its start', call_id, JSON.stringify(input), host.executed.get(call_id));
  for (const { callId, input } of outcome.operations)
    expectBytes('its operation', callId, JSON.stringify(input), host.executed.get(callId));
  return faults;
}

function judgeLimits({ outcome, events, host, limits }: SeenRun): string[] {
  const { maxToolCalls, maxReturnBytes, maxLogEvents, maxLogBytes, maxProgressEvents, maxToolInputBytes } = limits;
  const value = outcome.status === 'completed' ? (JSON.stringify(outcome.value) ?? '') : '';
  const logs = outcome.logs.filter(({ text }) => !/^\[\d+ console lines? w(?:as|ere) dropped/u.test(text));
  const counts = [
    ['executed calls', host.executed.size, maxToolCalls],
    ['operations', outcome.operations.length, maxToolCalls + CALL_MARGIN],
    ['bytes of the value', Buffer.byteLength(value), maxReturnBytes],
    ['bytes of output', Buffer.byteLength(outcome.output), maxReturnBytes + NOTE_BYTES],
    ['console lines', logs.length, maxLogEvents],
    ['bytes of console lines', logs.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0), maxLogBytes],
    ['events of progress', payloadsOf(events, 'script_progress').length, maxProgressEvents],
    [
      'bytes of arguments',
      Math.max(0, ...[...host.executed.values()].map((json) => json.length)),
      maxToolInputBytes + 20,
    ],
  ] as const;
  return counts.filter(([, count, max]) => count > max).map(([what, count, max]) => `${count} ${what}, limit ${max}`);
}

/** The calls of the script are the calls that the host received. */
function judgeCalls({ source, outcome, host, isForeign, limits, thread }: SeenRun): string[] {
  const record = readRecord(thread.record());
  const lines = source.split('\n');
  const callsOf = callLines(source);
  const misplaced = outcome.operations.filter(({ line = 0 }) => (isForeign ? line > lines.length : !callsOf.has(line)));
  const faults = misplaced.map(({ tool, line }) => `the call to ${tool} is said to stand on line ${line}`);
  if (record === undefined) return faults;
  const seen = outcome.operations.map((operation) => seenCall(operation, host, lines));
  const rules = {
    maxCalls: limits.maxToolCalls + CALL_MARGIN,
    isComplete: isWhole(source, outcome, thread),
    isForeign,
  };
  try {
    return [...faults, ...compareCalls(seen, record, rules)];
  } catch (error) {
    return [...faults, (error as Error).message];
  }
}

/**
 * A script that was stopped from outside may have made calls that were never reported. A script that detaches tasks may
 * have made such calls too: tasks count as calls, and refused tasks are not operations.
 */
function isWhole(source: string, outcome: Outcome, thread: ThreadMemory): boolean {
  const isStopped =
    outcome.status === 'failed' && ['ScriptTimeoutError', 'ScriptCancelledError'].includes(outcome.error.code);
  return thread.isComplete && !isStopped && !source.includes('tools.spawn.exec');
}

/** A detached task counts as a call, and is in no record of the script. */
function seenCall(operation: Operation, host: HostRecord, lines: readonly string[]): SeenCall {
  const { callId, tool, input, error, line = 0 } = operation;
  const name = /tools\.spawn\.exec/u.test(lines[line - 1] ?? '') ? '$spawn' : tool;
  const argsProblem = error?.code === 'ToolValidationError' ? error.message : undefined;
  return { name, argsJson: host.asked.get(callId) ?? JSON.stringify(input), argsProblem, line };
}

function isRising(callIds: readonly string[]): boolean {
  const indexes = callIds.map((callId) => Number(callId.slice(callId.lastIndexOf('_') + 1)));
  return indexes.every((index, at) => at === 0 || index > indexes[at - 1]!);
}

function isSameSet(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && new Set([...left, ...right]).size === left.length;
}
