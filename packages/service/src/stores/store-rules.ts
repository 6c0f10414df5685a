import { randomUUID } from 'node:crypto';
import {
  RunFenceSchema,
  type OutputItem,
  type RunDraft,
  type RunState,
  type StorageBounds,
  type StoredDecision,
  type StreamEvent,
  type Thread,
} from '@toolscript/core/protocol';
import { isRecord } from '@toolscript/core/internal';
import { storeErrors } from './store-errors.js';

/**
 * The steps of a fair claim, tried in order. Each step takes runs of principals that hold fewer runs than its number.
 * Undefined: the step takes runs of all principals.
 */
export function fairShares(maxPerPrincipal?: number): readonly (number | undefined)[] {
  return [...[1, 4, 16, 64].filter((share) => share < (maxPerPrincipal ?? Infinity)), maxPerPrincipal];
}

/** Whether a run with this lease is still held: see `RunStore`. `leaseMs` is the lease's length. */
export function isLeaseHeld(nowMs: number, expiresAtMs: number, leaseMs: number): boolean {
  const leftMs = expiresAtMs - nowMs;
  return leftMs > 0 && leftMs <= 2 * leaseMs;
}

/** Throws a `StorageLimitError` for a thread, or threads of a principal, above the bounds. */
export function checkBounds(
  { thread, principal }: { readonly thread: number; readonly principal: number },
  { bytesPerThread, bytesPerPrincipal }: StorageBounds,
): void {
  // defence: bytes-of-a-thread
  if (thread > bytesPerThread) throw storeErrors.threadTooLarge(thread, bytesPerThread);
  // defence: bytes-of-a-principal
  if (principal > bytesPerPrincipal) throw storeErrors.principalTooLarge(principal, bytesPerPrincipal);
}

/** The searchable text of the user's messages. */
export function inputText(input: readonly OutputItem[]): string {
  return input.map((item) => (item.type === 'message' ? item.content : '')).join('\n');
}

/**
 * The text by which requests with the same idempotency key are compared: equal requests have equal texts, regardless of
 * member order. The trace and the id of a new thread are excluded, because they may differ in a repeated request.
 */
export function requestText({ thread, input, options: { trace: _trace, ...options } = {} }: RunDraft): string {
  const { threadId: _generated, ...create } = 'create' in thread ? thread.create : { threadId: undefined };
  const request = { thread: 'create' in thread ? create : thread, input, options };
  return JSON.stringify(request, (_key, value: unknown) => (isRecord(value) ? sortedMembers(value) : value));
}

function sortedMembers(record: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).toSorted(([left], [right]) => (left < right ? -1 : 1)));
}

/** The state of an approval after this decision. */
export function stateAfter(decision: StoredDecision): 'approved' | 'denied' {
  return (typeof decision === 'string' ? decision : decision.decision) === 'approve' ? 'approved' : 'denied';
}

/** A new id of a thread, turn or run. */
export function newStoreId(prefix: string): string {
  return `${prefix}_${randomUUID().replaceAll('-', '')}`;
}

/** Maximum length of searched text, in UTF-16 units. */
const MAX_SEARCHED = 20_000;

/**
 * Normalizes a text or a query for search: truncates it, ignores case, and replaces characters that some databases
 * cannot store.
 */
export function searchText(text: string): string {
  return text
    .slice(0, MAX_SEARCHED)
    .normalize('NFC')
    .toLowerCase()
    .replaceAll(/[\0\p{Surrogate}]/gu, '\ufffd');
}

/** Maximum length of the searched text of a turn, in characters. */
export const MAX_TURN_SEARCHED = 40_000;

/** The text by which events of a run are found: an answer, or the names of the files of a call. */
export function eventText({ payload }: StreamEvent): string {
  if (payload.type === 'tool_call_start') return fileNames(payload.input).join('\n');
  if (payload.type !== 'item_done' || payload.final_item.type !== 'message') return '';
  return payload.final_item.role === 'assistant' ? payload.final_item.content : '';
}

/** Follows the searched text of a turn; empty if there is nothing to find. */
export function addedSearchText(texts: readonly string[]): string {
  return texts
    .filter((text) => text !== '')
    .map((text) => `\n${searchText(text)}`)
    .join('');
}

/** Whether the thread is in the state that `ThreadQuery` names. */
export function isInState({ activeState, lastState }: Thread, state: RunState | undefined): boolean {
  return state === undefined || (activeState ?? lastState) === state;
}

const PATCHED_FILE = /^\*\*\* (?:Add|Update|Delete) File: (.+)$/gmu;

/** The names of files in the arguments of a call: a path, the key of a saved file, the files of a patch. */
function fileNames(input: unknown): string[] {
  if (!isRecord(input)) return [];
  const { path, fileKey, patch } = input;
  const patched = typeof patch === 'string' ? [...patch.matchAll(PATCHED_FILE)].map(([, name]) => name) : [];
  return [path, fileKey, ...patched].filter((name) => typeof name === 'string');
}

/** Identifies a change of a document by the idempotency key of its call, among the changes of its scope and kind. */
export function changeName(kind: 'save' | 'delete', name: string, idempotencyKey: string): string {
  return JSON.stringify([kind, name, idempotencyKey]);
}

/** The epoch of a claim. */
export const EpochSchema = RunFenceSchema.shape.epoch;

/** An epoch that no log knows a later one of. */
export const ANY_EPOCH = Number.MAX_SAFE_INTEGER;
