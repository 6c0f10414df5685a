import { callScriptId } from '../answer/index.js';
import type { EventPayload, OutputItem, StreamEvent, ToolEffect } from '../protocol/index.js';

/**
 * A call that has started. `scriptId`: the script that makes the call, or that saves the call if the call is
 * structured.
 */
interface StartedCall {
  readonly effect: ToolEffect;
  readonly scriptId: string | undefined;
}

/** The state of a run whose process ended, read from its stored events. */
export interface InterruptedRun {
  /** Ids of items that started and have not ended. */
  readonly openItems: readonly string[];
  /** Ids of all items of the run. */
  readonly itemIds: ReadonlySet<string>;
  /** Calls that have started, by `call_id`. */
  readonly startedCalls: ReadonlyMap<string, StartedCall>;
  /** The scripts of the calls for which an approval was requested, by `call_id`. */
  readonly requestedCalls: ReadonlyMap<string, string>;
  /** The answer that the service may have continued without the process. */
  readonly background: BackgroundAnswer | undefined;
}

export type BackgroundAnswer = Extract<EventPayload, { type: 'background_answer' }>;

const CLOSED_BY = ['item_done', 'item_cancelled', 'item_error'];

export function interruptedRun(events: readonly StreamEvent[]): InterruptedRun {
  const open = new Set<string>();
  const itemIds = new Set<string>();
  const startedCalls = new Map<string, StartedCall>();
  const requestedCalls = new Map<string, string>();
  let background: BackgroundAnswer | undefined;
  for (const { payload } of events) {
    if (payload.type === 'background_answer') background = payload;
    else if (payload.type === 'request_done' || payload.type === 'request_retry') background = undefined;
    else if (payload.type === 'item_start') {
      open.add(payload.item_id);
      itemIds.add(payload.item_id);
    } else if (CLOSED_BY.includes(payload.type)) open.delete((payload as { item_id: string }).item_id);
    else if (payload.type === 'tool_call_start')
      startedCalls.set(payload.call_id, { effect: payload.effect, scriptId: payload.script_id });
    else if (payload.type === 'approval_requested' && payload.approval.script_id !== undefined)
      requestedCalls.set(payload.approval.call_id, payload.approval.script_id);
  }
  return { openItems: [...open], itemIds, startedCalls, requestedCalls, background };
}

/** The ids of the scripts that the events of a run and of its sub-agents name. */
export function namedScripts(payloads: Iterable<EventPayload>): ReadonlySet<string> {
  const named = new Set<unknown>();
  for (const payload of payloads) {
    if (payload.type === 'agent_event') for (const id of namedScripts([payload.event as EventPayload])) named.add(id);
    if (payload.type === 'item_done') named.add(itemScript(payload.final_item));
    if (payload.type === 'item_update') named.add(payload.changes.script_id);
    if (payload.type === 'tool_call_start' || payload.type === 'response_done') named.add(payload.script_id);
    if (payload.type === 'approval_requested') named.add(payload.approval.script_id);
  }
  return named as ReadonlySet<string>;
}

/** The script that an item shows; for a structured call, the script that saves the call. */
export function itemScript(item: OutputItem): string | undefined {
  if (item.type === 'function_call') return callScriptId(item);
  return item.type === 'script_execution' || item.type === 'script_execution_output'
    ? (item.script_id as string | undefined)
    : undefined;
}

/**
 * Whether a script of the answer has failed. The run then skips the later scripts and calls of the answer, unless
 * `continueOnError` is set.
 */
export function hasFailedScript(items: readonly OutputItem[], answerId: unknown): boolean {
  if (answerId === undefined) return false;
  const ofAnswer = new Set(
    items.flatMap((item) => (item.type === 'script_execution' && item.answer_id === answerId ? [item.call_id] : [])),
  );
  return items.some(
    (item) => item.type === 'script_execution_output' && item.status === 'failed' && ofAnswer.has(item.call_id),
  );
}
