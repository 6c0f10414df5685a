import type { FunctionCallItem, Operation, OutputItem, ScriptExecutionItem } from '../protocol/index.js';
import { toSnakeCase } from '../protocol/spelling.js';
import { newId } from '../text/crypto.js';

export type UnfinishedCall = FunctionCallItem | ScriptExecutionItem;

/**
 * The calls and scripts without a result, in order. If a script arrived as a call, the list contains only the script.
 */
export function openCalls(items: readonly OutputItem[]): UnfinishedCall[] {
  const open = new Map<string, UnfinishedCall>();
  for (const item of items) {
    switch (item.type) {
      case 'function_call':
        if (item.cancelled !== true && item.hosted !== true) open.set(item.call_id, item);
        break;
      case 'script_execution':
        if (item.cancelled !== true) open.set(item.call_id, item);
        break;
      case 'function_call_output':
      case 'script_execution_output':
        open.delete(item.call_id);
        break;
      default:
        break;
    }
  }
  return [...open.values()];
}

const NOT_RUN = 'There is no result: this call or script did not run. Send it again if it is still needed.';
const CUT_OFF =
  'There is no result: the process ended while this script ran. Its completed calls took effect: check before you repeat any of them.';
const UNKNOWN =
  'There is no result: the process ended while this call ran. It may have taken effect: check before you repeat it.';
const WAITING =
  "This call is suspended: it waits for the user's decision. Its result follows after the decision. Do not repeat the call.";
const SUSPENDED =
  'Script suspended: an approval is pending. The script resumes by itself after the user decides, and then returns its result. Do not repeat its calls.';

/**
 * The output that replaces a call's missing result when the conversation continues without that result. `operations`:
 * what the store knows of the script's calls.
 */
export function closingOutput(
  call: UnfinishedCall,
  hasStarted = false,
  operations: readonly Operation[] = [],
): OutputItem {
  const { call_id } = call;
  const output = hasStarted ? UNKNOWN : call.type === 'function_call' && call.suspended === true ? WAITING : NOT_RUN;
  if (call.type === 'function_call')
    return { type: 'function_call_output', id: newId('item'), call_id, output, success: false };
  const waits = call.status === 'suspended';
  const report = waits ? SUSPENDED : call.status === 'executing' ? CUT_OFF : NOT_RUN;
  return {
    type: 'script_execution_output',
    id: newId('item'),
    call_id,
    status: waits ? 'suspended' : 'failed',
    report,
    /** True: the output replaces a missing result, because the call did not end. */
    stands_in: true,
    logs: [],
    operations: operations.map((operation) => toSnakeCase(operation)),
    metadata: {
      duration_ms: 0,
      compute_ms: 0,
      approval_wait_ms: 0,
      tool_calls_made: 0,
      memory_used_mb: 0,
      cache_hit: false,
      compilation_cache_hit: false,
    },
  };
}

/**
 * The other scripts and calls of the same answer that have no result, in order. `callId`: a script or call of the
 * answer.
 */
export function callsAfter(items: readonly OutputItem[], callId: string): UnfinishedCall[] {
  const isIt = (item: OutputItem) => item.type === 'script_execution' || item.type === 'function_call';
  const item = items.findLast((candidate) => isIt(candidate) && candidate.call_id === callId);
  if (item?.answer_id === undefined) return [];
  // The position does not matter: a call may have been announced before the script of an earlier call.
  return openCalls(items).filter((call) => call.answer_id === item.answer_id && call.call_id !== callId);
}

/** Whether the answer of the call continues with text. A service that ran the call itself answers with its result. */
export function hasTextAfter(items: readonly OutputItem[], { id, answer_id: answerId }: FunctionCallItem): boolean {
  return items
    .slice(items.findIndex((item) => item.id === id) + 1)
    .some((item) => item.type === 'message' && item.answer_id === answerId && item.content.trim() !== '');
}

const SPOKEN: readonly string[] = ['reasoning', 'hosted_code', 'hosted_code_output'];

/**
 * The index of the first trailing item of reasoning, hosted code or the model's text. No result follows these items, so
 * their answer did not end.
 */
export function lastSpokenIndex(items: readonly OutputItem[]): number {
  return (
    items.findLastIndex(({ type, role }) => !SPOKEN.includes(type) && !(type === 'message' && role === 'assistant')) + 1
  );
}

/** The script of a pending item, in the form that `AnswerWork` runs. */
export function pendingBlock(script: ScriptExecutionItem) {
  const {
    type: _type,
    source_code: source,
    source_sha256: _sha256,
    status: _status,
    language,
    plan: _plan,
    ...item
  } = script;
  return { source, language, item: { ...item, stage: 'pending' as const } };
}
