import type { ApprovalRequest } from '@toolscript/core';
import { interruptedRun } from '@toolscript/core/agent';
import {
  EventEnvelopes,
  isFinalRunState,
  type ApprovalDraft,
  type EventPayload,
  type RunFence,
  type ServiceStores,
  type StreamEvent,
} from '@toolscript/core/protocol';

type Done = Extract<EventPayload, { type: 'response_done' }>;
type RequestedApproval = Extract<EventPayload, { type: 'approval_requested' }>['approval'];

/** The events that a run lacks to have an end: what is open is cancelled. None where it has one. */
export function missingEnd(events: readonly StreamEvent[], status: 'failed' | 'incomplete'): EventPayload[] {
  if (doneOf(events) !== undefined) return [];
  const reason = status === 'incomplete' ? { incomplete_reason: 'interrupted' } : {};
  return [
    ...interruptedRun(events).openItems.map((item_id): EventPayload => ({ type: 'item_cancelled', item_id })),
    { type: 'response_done', status, ...reason },
  ];
}

/** The end of the run's last part; undefined where it was interrupted. */
export function doneOf(events: readonly StreamEvent[]): Done | undefined {
  const last = events.at(-1)?.payload;
  return last?.type === 'response_done' ? last : undefined;
}

/** Appends the end that an interrupted run lacks, and ends the run in the store. */
export async function closeInterrupted(stores: ServiceStores, fence: RunFence): Promise<void> {
  const events = await allEvents(stores, fence.runId);
  const { threadId, turnId } = (await stores.runs.get(fence.runId))!;
  const envelopes = new EventEnvelopes({ runId: fence.runId, threadId, turnId }, events.length);
  const end = missingEnd(events, 'incomplete').map((payload) => envelopes.next(payload));
  if (end.length > 0) await stores.threads.append(end, { epoch: fence.epoch });
  await endRun(stores, fence, [...events, ...end]);
}

/** Suspends or finishes a run as its events say. `requests`: in full, those of them that are at hand. */
export async function endRun(
  stores: ServiceStores,
  fence: RunFence,
  events: readonly StreamEvent[],
  requests: readonly ApprovalRequest[] = [],
): Promise<void> {
  const done = doneOf(events)!;
  if (done.status === 'suspended') {
    const drafts = await approvalDrafts(stores, fence.runId, done, [...requestsIn(events), ...requests]);
    if (drafts.length > 0) return void (await stores.runs.suspend(fence, drafts));
  }
  const state = isFinalRunState(done.status as 'failed') ? (done.status as 'failed') : 'incomplete';
  const failure = events.findLast(({ payload }) => payload.type === 'response_error')?.payload;
  const error = failure?.type === 'response_error' ? { code: failure.code, message: failure.message } : undefined;
  await stores.runs.finish(fence, { state, ...(error === undefined ? {} : { error }) });
}

/** An approval of another run of the thread, to which the script belonged before, stays there. */
async function approvalDrafts(
  { threads }: ServiceStores,
  runId: string,
  { approval_ids: ids = [] }: Done,
  requests: readonly ApprovalRequest[],
): Promise<ApprovalDraft[]> {
  const known = new Map(requests.map((request) => [request.approvalId, request]));
  const drafts: ApprovalDraft[] = [];
  for (const id of ids) {
    const stored = await threads.approval(id);
    const request = known.get(id) ?? stored?.request;
    if (request !== undefined && (stored?.runId ?? runId) === runId)
      drafts.push({ request: request as ApprovalDraft['request'] });
  }
  return drafts;
}

function requestsIn(events: readonly StreamEvent[]): ApprovalRequest[] {
  return events.flatMap(({ payload }) => (payload.type === 'approval_requested' ? [requestOf(payload.approval)] : []));
}

function requestOf(event: RequestedApproval): ApprovalRequest {
  const {
    approval_id: approvalId,
    call_id: callId,
    script_id: scriptId,
    input_json: inputJson,
    created_at: createdAt,
    expires_at: expiresAt,
    ...same
  } = event;
  const optional = Object.entries({ scriptId, createdAt, expiresAt }).filter(([, value]) => value !== undefined);
  return { ...same, approvalId, callId, inputJson, ...Object.fromEntries(optional) } as ApprovalRequest;
}

/** All events of a run, in order. */
export async function allEvents({ threads }: ServiceStores, runId: string): Promise<StreamEvent[]> {
  const events: StreamEvent[] = [];
  for (let from: number | undefined = 0; from !== undefined;) {
    const page = await threads.readEvents(runId, { from });
    events.push(...page.events);
    from = page.next;
  }
  return events;
}
