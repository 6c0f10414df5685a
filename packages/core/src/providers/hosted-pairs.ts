import { codeOfCall } from '../protocol/hosted-code.js';
import { isNativeTo, type AnswerPart, type ConversationTurn } from './conversation.js';
import { isMembers, wireJson, wireMembers, wireName, type Members } from './wire-values.js';

/*
 * Calls of tools that the provider runs itself, such as its searches. Each call has a result, and a service refuses a
 * request with one half of a pair:
 *
 *   called ──its result──▶ complete
 *      └── the answer was interrupted, or anything but results of its other calls follows ──▶ lost
 *
 * A call without a result at the end of a conversation is sent back only in Messages: after a pause, and also if the
 * client has made calls beside it, the next answer begins with its result. Source:
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use/server-tools, as of 2026-09-20.
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
 * The turns with each pair once, and with a report in place of each lost call. A damaged answer may announce a call
 * again: the last one before the first result counts.
 */
export function withoutLostCalls(api: string, turns: readonly ConversationTurn[]): ConversationTurn[] {
  const pairs = pairsIn(turns);
  const code = codeWithCalls(turns);
  const isLost = ({ call, result }: Pair): boolean => result === undefined && !isPending(api, turns, call, code);
  const kept = new Set(pairs.flatMap((pair) => (isLost(pair) ? [] : [pair.call.part, pair.result?.part])));
  const reports = lossReports(pairs, isLost);
  return turns.flatMap((turn, index): ConversationTurn[] => {
    const isKept = (part: AnswerPart): boolean => !isHosted(part) || kept.has(part);
    const own = turn.type === 'answer' ? { ...turn, parts: turn.parts.filter(isKept) } : turn;
    return [own, ...(reports.get(index) ?? [])];
  });
}

/** The reports of lost calls, by the index of the turn that they follow: a report must not separate pairs. */
function lossReports(
  pairs: readonly Pair[],
  isLost: (pair: Pair) => boolean,
): ReadonlyMap<number, readonly ConversationTurn[]> {
  const ends = new Map<number, number>();
  for (const { call, result } of pairs)
    if (result !== undefined) ends.set(call.turn, Math.max(ends.get(call.turn) ?? 0, result.turn));
  const reports = new Map<number, ConversationTurn[]>();
  for (const pair of pairs.filter(isLost)) {
    const place = ends.get(pair.call.turn) ?? pair.call.turn;
    reports.set(place, [...(reports.get(place) ?? []), lostReport(pair)]);
  }
  return reports;
}

interface Place {
  readonly part: HostedPart;
  /** The index of its turn. */
  readonly turn: number;
}

interface Pair {
  readonly call: Place;
  readonly result: Place | undefined;
}

/** A hosted call or its result. */
type HostedPart = Exclude<AnswerPart, { type: 'call' }>;

function pairsIn(turns: readonly ConversationTurn[]): readonly Pair[] {
  const pairs = new Map<string, Pair>();
  for (const [turn, parts] of turns.map(answerParts).entries()) {
    for (const part of parts.filter(isHosted)) {
      const [call, result] = [callId(part), resultId(part)];
      if (call !== undefined && pairs.get(call)?.result === undefined)
        pairs.set(call, { call: { part, turn }, result: undefined });
      const pair = result === undefined ? undefined : pairs.get(result);
      if (pair !== undefined && pair.result === undefined) pairs.set(result!, { ...pair, result: { part, turn } });
    }
  }
  return [...pairs.values()];
}

function answerParts(turn: ConversationTurn): readonly AnswerPart[] {
  return turn.type === 'answer' ? turn.parts : [];
}

function isHosted(part: AnswerPart): part is HostedPart {
  return part.type !== 'call' && (callId(part) ?? resultId(part)) !== undefined;
}

/** Whether the next answer may begin with the result of the call. `code`: the code that waits for its own calls. */
function isPending(
  api: string,
  turns: readonly ConversationTurn[],
  { part, turn: index }: Place,
  code: CodeIds,
): boolean {
  if (!isNativeTo(api, part.item)) return false;
  if (part.type === 'hosted' && code.has(callId(part))) return true;
  const turn = turns[index];
  const isLast = index === turns.length - 1 && turn?.type === 'answer' && turn.textResults.length === 0;
  return isLast && part.item['lost'] !== true && (api === 'anthropic-messages' || part.type === 'hosted');
}

type CodeIds = ReadonlySet<string | undefined>;

/** The ids of code that has called tools. `hostedCodeIn` says whether it still waits for their results. */
function codeWithCalls(turns: readonly ConversationTurn[]): CodeIds {
  const calls = turns.flatMap(answerParts).filter((part) => part.type === 'call');
  return new Set(calls.map(({ call }) => codeOfCall(call.item ?? {})));
}

function callId({ item }: HostedPart): string | undefined {
  if (item.type === 'hosted_code') return item.call_id;
  return item.type === 'reasoning' && isMembers(item.native) ? hostedCallId(item.native) : undefined;
}

function resultId({ item }: HostedPart): string | undefined {
  if (item.type === 'hosted_code_output') return item.call_id;
  return item.type === 'reasoning' && isMembers(item.native) ? hostedResultId(item.native) : undefined;
}

const MAX_EXCERPT = 2000;

function lostReport({ call: { part } }: Pair): ConversationTurn {
  const { name, type, input, action } = wireMembers(part.item.native);
  const what = `${wireName(name) ?? wireName(type)}(${(wireJson(input ?? action) ?? '').slice(0, MAX_EXCERPT)})`;
  const text = `There is no result of ${what}: the answer was interrupted. Make the call again if you still need it.`;
  return { type: 'late_result', result: { callId: callId(part)!, parts: [{ type: 'text', text }] } };
}
