import type { Usage } from '../../protocol/index.js';
import type { IncompleteReason } from '../answer-writer.js';
import {
  wireArguments,
  wireCount,
  wireJson,
  wireList,
  wireMembers,
  wireName,
  wireText,
  without,
  withoutNulls,
  type Members,
} from '../wire-values.js';

/**
 * Reads the OpenAI Responses API and compatible servers. Items are kept unchanged; these functions interpret them.
 * Source of the format: https://platform.openai.com/docs/api-reference/responses-streaming
 */

/** The calls that the service itself executes, and completes within the item. */
const HOSTED_CALLS: readonly unknown[] = [
  'code_execution_call',
  'code_interpreter_call',
  'file_search_call',
  'image_generation_call',
  'mcp_call',
  'view_image_call',
  'view_x_video_call',
  'web_search_call',
  'x_search_call',
];

/**
 * Whether the item is a call that its client must execute, but that Toolscript does not know: a service refuses a
 * request that contains such a call without its output. Source: the item types of `openai` 7.59.0. A call of an unknown
 * type counts as one.
 */
function isForeignCall({ type, environment, execution }: Members): boolean {
  switch (type) {
    case 'function_call':
    case 'custom_tool_call':
      return false;
    case 'mcp_approval_request':
      return true;
    case 'shell_call':
      return wireMembers(environment).type !== 'container_reference';
    case 'tool_search_call':
      return execution === 'client';
    default:
      return wireText(type)?.endsWith('_call') === true && !HOSTED_CALLS.includes(type);
  }
}

/** The item; a call of a type that Toolscript does not know becomes a call of a function with the name of its type. */
export function knownItem(item: Members): Members {
  if (!isForeignCall(item)) return item;
  return {
    type: 'function_call',
    foreign_type: item.type,
    name: item.type,
    call_id: wireName(item.call_id) ?? item.id,
    arguments: wireJson(without(item, 'type', 'id', 'call_id', 'status', 'caller', 'created_by')),
    ...withoutNulls({ caller: item.caller, status: item.status }),
  };
}

/** The results that the service itself makes. */
const HOSTED_RESULTS: readonly unknown[] = ['program_output', 'shell_call_output', 'tool_search_output'];

/** Whether the item is the result of a call that a client executes: the client has made its own. */
export function isClientResult({ type }: Members): boolean {
  const isResult = type === 'mcp_approval_response' || wireText(type)?.endsWith('_output') === true;
  return isResult && !HOSTED_RESULTS.includes(type);
}

/** Whether the event has content that Toolscript does not read, and that no item repeats at its end. */
export function isUnreadContent(type: string): boolean {
  return type === 'response.audio.delta' || type === 'response.audio.transcript.delta';
}

export type WireItemKind = 'message' | 'reasoning' | 'function_call' | 'hosted_code' | 'hosted_output' | 'opaque';

export function wireItemKind(item: Members): WireItemKind {
  switch (item.type) {
    case 'message':
    case 'reasoning':
    case 'function_call':
      return item.type;
    case 'custom_tool_call':
      return 'function_call';
    case 'program':
      return 'hosted_code';
    case 'program_output':
      return 'hosted_output';
    default:
      return 'opaque';
  }
}

/** The kind of item that a delta belongs to; undefined for any other event, such as a delta of a hosted tool. */
export function kindOfDelta(type: string): WireItemKind | undefined {
  switch (type) {
    case 'response.output_text.delta':
    case 'response.refusal.delta':
      return 'message';
    case 'response.reasoning_text.delta':
    case 'response.reasoning_summary_text.delta':
      return 'reasoning';
    case 'response.function_call_arguments.delta':
    case 'response.custom_tool_call_input.delta':
      return 'function_call';
    default:
      return undefined;
  }
}

/** The text of the finished item; undefined if the wire did not send it. */
export function textOfItem(item: Members): string | undefined {
  switch (wireItemKind(item)) {
    case 'message':
      return joinedTexts(wireList(item.content), '');
    case 'reasoning':
      return joinedTexts([...wireList(item.summary), ...wireList(item.content)], PARAGRAPH);
    case 'function_call':
      return item.type === 'custom_tool_call' ? wireText(item.input) : wireArguments(item.arguments);
    case 'hosted_code':
      return wireText(item.code);
    case 'hosted_output':
      return wireText(item.result);
    case 'opaque':
      return '';
  }
}

/** Separates the parts of reasoning. */
export const PARAGRAPH = '\n\n';

function joinedTexts(parts: readonly unknown[], separator: string): string | undefined {
  const texts = parts.flatMap((part) => {
    const { text, refusal } = wireMembers(part);
    return wireText(text) ?? wireText(refusal) ?? [];
  });
  return texts.length === 0 ? undefined : texts.join(separator);
}

/**
 * Members of a finished item to keep, under their wire names. Unless `content` is one plain text, it becomes
 * `content_parts`.
 */
export function nativeMembers(item: Members): Record<string, unknown> {
  const members = without(item, 'type', 'id', 'role', 'call_id', 'name', 'content', 'arguments');
  const id = wireName(item.id);
  if (id !== undefined) members.native_id = id;
  if (item.type === 'custom_tool_call') members.native_type = item.type;
  const parts = wireList(item.content);
  const refusals = parts.flatMap((part) => wireText(wireMembers(part).refusal) ?? []);
  if (refusals.length > 0) members.refusal = refusals.join('');
  if (parts.length > 0 && !isOnePlainText(parts)) members.content_parts = parts;
  return members;
}

/** Whether the parts are one plain text, which can be rebuilt from the text alone. */
function isOnePlainText(parts: readonly unknown[]): boolean {
  const { type, text, ...others } = wireMembers(parts[0]);
  const isPlain = type === 'output_text' && typeof text === 'string';
  return parts.length === 1 && isPlain && Object.values(others).every((other) => wireList(other).length === 0);
}

export function responsesUsage(value: unknown): Usage | undefined {
  const usage = wireMembers(value);
  const input = wireCount(usage.input_tokens);
  const output = wireCount(usage.output_tokens);
  if (input === undefined && output === undefined) return undefined;
  const total = (input ?? 0) + (output ?? 0);
  const inputDetails = wireMembers(usage.input_tokens_details);
  return {
    input_tokens: input ?? 0,
    output_tokens: output ?? 0,
    total_tokens: wireCount(usage.total_tokens) ?? total,
    ...figure('cache_read_tokens', inputDetails.cached_tokens),
    ...figure('cache_write_tokens', inputDetails.cache_write_tokens),
    ...figure('reasoning_tokens', wireMembers(usage.output_tokens_details).reasoning_tokens),
    native: usage,
  };
}

function figure(name: string, value: unknown): Record<string, number> {
  const count = wireCount(value);
  return count === undefined ? {} : { [name]: count };
}

export function responsesIncompleteReason(details: unknown): IncompleteReason {
  switch (wireMembers(details).reason) {
    case 'max_output_tokens':
    case 'max_tokens':
      return 'max_output_tokens';
    case 'content_filter':
      return 'content_filter';
    default:
      return 'other';
  }
}
