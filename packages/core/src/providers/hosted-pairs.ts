import type { OutputItem } from '../protocol/index.js';
import { isMembers, wireJson, wireMembers, wireName, type Members } from './wire-values.js';

/*
 * Calls of tools that the provider runs itself, such as its searches. Each call has a result, and a service refuses a
 * request with one half of a pair:
 *
 *   called ──its result──▶ complete
 *      └── the answer is interrupted, or a user or system message follows ──▶ lost
 *
 * A call without a result at the end of a conversation is sent back, because the next answer begins with its result.
 */

/** The id of the hosted call that the wire's item or block is; undefined if it is none, or if its result is in itself. */
export function hostedCallId({ type, id, call_id: callId }: Members): string | undefined {
  const name = wireName(type) ?? '';
  if (name.endsWith('_tool_use')) return wireName(id);
  return name === 'shell_call' || name === 'tool_search_call' ? wireName(callId) : undefined;
}

/**
 * The id of the call whose result the wire's item or block is; undefined if it is none. Only results of hosted calls go
 * back as they came: a client makes the others itself.
 */
export function hostedResultId({
  type,
  call_id: callId,
  tool_use_id: toolUseId,
  ...item
}: Members): string | undefined {
  if (type === 'mcp_approval_response') return wireName(item.approval_request_id);
  return wireName(type)?.endsWith('_output') === true ? wireName(callId) : wireName(toolUseId);
}

/**
 * The conversation with each pair once, and with a report, at the end of its answer, in place of each lost call. A
 * damaged answer may announce a call again: the last one before the first result counts.
 */
export function withoutLostCalls(conversation: readonly OutputItem[]): readonly OutputItem[] {
  const pairs = pairsIn(conversation);
  const lastMessage = conversation.findLastIndex((item) => item.type === 'message' && item.role !== 'assistant');
  const isLost = (item: OutputItem, index: number): boolean => {
    const pair = pairs.get(callId(item) ?? '');
    return pair?.call === index && pair.result === undefined && (item['lost'] === true || index < lastMessage);
  };
  const reports = new Map<number, OutputItem[]>();
  for (const [index, item] of conversation.entries()) {
    if (!isLost(item, index)) continue;
    const end = item.answer_id === undefined ? index : conversation.findLastIndex(isOfAnswer(item.answer_id));
    reports.set(end, [...(reports.get(end) ?? []), lostReport(item)]);
  }
  return conversation.flatMap((item, index) => {
    const [call, result] = [callId(item), resultId(item)];
    const isRepeated = call !== undefined && pairs.get(call)?.call !== index;
    const isAlone = result !== undefined && pairs.get(result)?.result !== index;
    const isKept = !isLost(item, index) && !isRepeated && !isAlone;
    return [...(isKept ? [item] : []), ...(reports.get(index) ?? [])];
  });
}

/** The index of a call, and of its result if it has one. */
interface Pair {
  readonly call: number;
  readonly result: number | undefined;
}

function pairsIn(conversation: readonly OutputItem[]): ReadonlyMap<string, Pair> {
  const pairs = new Map<string, Pair>();
  for (const [index, item] of conversation.entries()) {
    const [call, result] = [callId(item), resultId(item)];
    if (call !== undefined && pairs.get(call)?.result === undefined)
      pairs.set(call, { call: index, result: undefined });
    const pair = result === undefined ? undefined : pairs.get(result);
    if (pair?.result === undefined && pair !== undefined) pairs.set(result!, { ...pair, result: index });
  }
  return pairs;
}

const isOfAnswer = (id: unknown) => (item: OutputItem) => item.answer_id === id;

function callId(item: OutputItem): string | undefined {
  if (item.type === 'hosted_code') return item.call_id;
  return item.type === 'reasoning' && isMembers(item.native) ? hostedCallId(item.native) : undefined;
}

function resultId(item: OutputItem): string | undefined {
  if (item.type === 'hosted_code_output') return item.call_id;
  return item.type === 'reasoning' && isMembers(item.native) ? hostedResultId(item.native) : undefined;
}

const MAX_EXCERPT = 2000;

function lostReport(item: OutputItem): OutputItem {
  const { id, native } = item;
  const { name, type, input, action } = wireMembers(native);
  const what = `${wireName(name) ?? wireName(type)}(${(wireJson(input ?? action) ?? '').slice(0, MAX_EXCERPT)})`;
  const output = `There is no result of ${what}: the answer was interrupted. Make the call again if you still need it.`;
  return { type: 'function_call_output', id, call_id: callId(item)!, output, success: false };
}
