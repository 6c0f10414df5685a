import { isFinalRunState } from '@toolscript/core/internal';
import type { OutputItem, Run } from '@toolscript/core/protocol';
import type { Service } from '../http/service.js';
import { allRuns, allTurns, loadHistory, type RunOptions } from '@toolscript/service';
import { apiError } from './api-errors.js';
import { responseRunId } from './response-resource.js';

/** The response that a request continues. */
export interface PreviousResponse {
  readonly run: Run;
  readonly agentId: string | undefined;
  /** True if no other run follows `run` in its thread. */
  readonly isNewest: boolean;
  /** The `call_id` of each call of the client's functions that has no output. */
  readonly openCalls: readonly string[];
}

/** The response with this id. Throws if the principal has no such response, or if its run is queued or running. */
export async function previousResponse(
  service: Service,
  principal: string,
  responseId: string,
): Promise<PreviousResponse> {
  const { stores } = service;
  const runId = responseRunId(responseId);
  // defence: previous-response-of-the-caller
  const run = runId === undefined ? undefined : await stores.runs.get(runId, { principal });
  if (run === undefined)
    throw apiError(
      400,
      `You have no response ${JSON.stringify(responseId)} to continue. Correct "previous_response_id", or omit it.`,
      {
        param: 'previous_response_id',
        code: 'previous_response_not_found',
      },
    );
  if (!isFinalRunState(run.state) && run.state !== 'suspended')
    throw apiError(400, `The response ${JSON.stringify(responseId)} has not ended. Wait for its end, or cancel it.`, {
      param: 'previous_response_id',
      code: 'response_in_progress',
    });
  const { agentId } = run.options as RunOptions;
  const isNewest = (await nextRun(service, run)) === undefined;
  return { run, agentId, isNewest, openCalls: await openCallIds(service, run) };
}

/**
 * The end of the conversation up to and including the response: the items from its first turn that has not ended on.
 * `branchOf`: the place before that turn; undefined if it is the first turn, or if all turns have ended.
 */
export async function openEnd(service: Service, previous: PreviousResponse) {
  const { runId, threadId, principal } = previous.run;
  const runs = await allRuns(service.stores, threadId);
  const place = runs.findIndex((run) => run.runId === runId);
  const open = runs.slice(0, place + 1).find(({ state }) => !isFinalRunState(state));
  const from = open === runs[0] ? undefined : open;
  const items = await service.longReads.read(principal, () => responseConversation(service, previous, from));
  return { items, branchOf: from && { threadId, turnId: from.turnId } };
}

/**
 * The conversation up to and including the response, from the run `from` on. Runs that start in the thread later are
 * excluded.
 */
async function responseConversation(
  service: Service,
  { run }: PreviousResponse,
  from: Run | undefined,
): Promise<readonly OutputItem[]> {
  let next = await nextRun(service, run);
  for (;;) {
    const items = await loadHistory(service.stores, run.threadId, next, from);
    const now = await nextRun(service, run);
    if (now?.runId === next?.runId) return items;
    next = now;
  }
}

/** The run that follows in the same thread; undefined for the newest run. */
async function nextRun({ stores }: Service, { runId, threadId }: Run): Promise<Run | undefined> {
  const all = await allRuns(stores, threadId);
  return all[all.findIndex((other) => other.runId === runId) + 1];
}

async function openCallIds({ stores }: Service, run: Run): Promise<readonly string[]> {
  const { settings } = run.options as RunOptions;
  const names = new Set(settings?.clientFunctions?.map(({ name }) => name));
  if (names.size === 0) return [];
  const turn = (await allTurns(stores, run.threadId)).find(({ runId }) => runId === run.runId);
  const open = new Set<string>();
  for (const item of turn?.items ?? []) {
    if (item.type === 'function_call' && item.cancelled !== true && names.has(item.name)) open.add(item.call_id);
    if (item.type === 'function_call_output') open.delete(item.call_id);
  }
  return [...open];
}
