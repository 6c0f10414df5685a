import type { AnswerEnd, ProviderFailure, Waiting } from '../answer/index.js';
import type { ResponseStatus } from '../protocol/index.js';
import type { RunLog } from './run-log.js';

/**
 * The state of a run. The run requests answers until an answer contains no script and no call, or until a script
 * returns the final answer.
 *
 *   compacting ◀──too long──┐
 *     │ └──a summary──▶ asking ──an answer──▶ deciding ──scripts or calls ran──▶ asking
 *     │                   │                      │
 *     │                   │                      └──nothing ran, suspended, failed, cancelled or incomplete──▶ done
 *     └──no summary───────┴──limit reached, cancelled──▶ done
 */
export type AgentRunState = { readonly type: 'asking' | 'compacting' } | Deciding | AgentRunEnd;

export interface Deciding {
  readonly type: 'deciding';
  readonly end: AnswerEnd;
  /** Whether the conversation has results that the model has not read. */
  readonly hasResults: boolean;
  readonly waiting: Waiting | undefined;
}

export interface AgentRunEnd {
  readonly type: 'done';
  readonly status: ResponseStatus;
  readonly members?: Readonly<Record<string, unknown>> | undefined;
}

export function incompleteEnd(reason: string): AgentRunEnd {
  return { type: 'done', status: 'incomplete', members: { incomplete_reason: reason } };
}

/** The end of a run that a failure ends. Emits the failure. */
export function failedEnd({ emit }: RunLog, failure: ProviderFailure): AgentRunEnd {
  emit({ ...failure, type: 'response_error' });
  return { type: 'done', status: 'failed' };
}

export function waitingEnd(waiting: Waiting, inSubAgents: boolean): AgentRunEnd {
  const members = { ...waiting, ...(inSubAgents && { in_sub_agents: true }) };
  return { type: 'done', status: 'suspended', members };
}
