import { agentSystem, fileAnnouncement, recoverRun, resumeRun, runAgent } from '@toolscript/core/agent';
import type { ApprovalRequest, Decisions } from '@toolscript/core';
import {
  AGENT_LIMITS,
  DEFAULT_LIMITS,
  narrowerMode,
  StoreUnavailableError,
  type Approval,
  type ClaimedRun,
  type OutputItem,
  type ServiceStores,
  type StreamEvent,
  type ThreadInstructions,
} from '@toolscript/core/protocol';
import { traceRun } from '@toolscript/core/tracing';
import type { AgentDirectory, OpenedAgent } from '../agents/index.js';
import { isLoss, type HeldRun } from './held-run.js';
import { sharedSettings, withInstructions, withSettings } from './model-settings.js';
import { scriptPrincipal } from './principals.js';
import { loadHistory } from './run-history.js';
import { narrowLimits, RunOptionsSchema, type RunOptions } from './run-options.js';
import { compareInstructions } from './thread-instructions.js';

export interface ExecutionParts {
  readonly stores: ServiceStores;
  readonly agents: AgentDirectory;
  /** True: the store of scripts has lost no write since the run was interrupted. Default false. */
  readonly storeIsWhole?: boolean;
}

/**
 * Executes a claimed run until it ends, waits for decisions, or must stop. Never rejects because of a failure of the
 * run.
 */
export async function executeRun(held: HeldRun, claimed: ClaimedRun, parts: ExecutionParts): Promise<void> {
  let requests: ReadonlyMap<string, ApprovalRequest> = new Map();
  try {
    if (!held.state.isEnded && !endsUnbegun(held)) requests = await work(held, claimed, parts);
  } catch (error) {
    if (isOfStore(error)) held.fail(error);
    else fail(held, error);
  }
  if (held.stopped === 'draining') await held.release();
  else await held.end(requests);
}

/** Ends a run that was cancelled before its first event. Returns false for every other run. */
function endsUnbegun(held: HeldRun): boolean {
  if (held.stopped !== 'cancelled' || held.state.nextSeq > 0) return false;
  held.emit({ type: 'response_start' });
  held.emit({ type: 'response_done', status: 'cancelled' });
  return true;
}

async function work(
  held: HeldRun,
  claimed: ClaimedRun,
  { stores, agents, storeIsWhole = false }: ExecutionParts,
): Promise<ReadonlyMap<string, ApprovalRequest>> {
  const options = RunOptionsSchema.parse(claimed.run.options);
  const opened = await openAgent(agents, options, await stores.threads.instructions(claimed.run.threadId));
  held.observer?.agentOpened(opened);
  for await (const event of await eventsOf(held, claimed, { stores, opened, options, storeIsWhole })) {
    const { payload } = event;
    // The store failed before this process claimed the script, so the script keeps waiting.
    if (payload.type === 'response_error' && payload.code === 'StoreError')
      throw new StoreUnavailableError(payload.message);
    held.take(event);
  }
  const { done } = held.state;
  if (done?.status !== 'suspended' || done.script_id === undefined) return new Map();
  return pendingRequests(held, opened, done);
}

/**
 * The complete requests of the approvals for which a suspended run waits: those of its script, or of the scripts of its
 * sub-agents.
 */
async function pendingRequests(
  { run, state }: HeldRun,
  { harness }: OpenedAgent,
  { script_id: own, approval_ids: ids = [] }: { script_id?: string | undefined; approval_ids?: string[] | undefined },
): Promise<ReadonlyMap<string, ApprovalRequest>> {
  const principal = scriptPrincipal(run.principal);
  const scripts = new Set([own, ...ids.map((id) => state.requests.get(id)?.scriptId)]);
  const requests = new Map<string, ApprovalRequest>();
  for (const scriptId of scripts) {
    if (scriptId === undefined) continue;
    const details = await harness.inspect(scriptId, principal === undefined ? {} : { principal });
    for (const request of details?.pendingApprovals ?? []) requests.set(request.approvalId, request);
  }
  return requests;
}

/**
 * Opens the run's agent. A conversation with the same agent keeps its model, unless the submitter names another model.
 */
async function openAgent(
  agents: AgentDirectory,
  { agentId, model, overrides }: RunOptions,
  before: ThreadInstructions | undefined,
): Promise<OpenedAgent> {
  const served = await agents.find(agentId);
  if (served === undefined)
    throw new AgentUnavailableError(
      `The agent ${JSON.stringify(agentId)} no longer exists. Submit the prompt to another agent, in a new thread.`,
    );
  const same = before?.agentId === served.config.slug ? before.model : undefined;
  return served.open({ model: model ?? same, expose: overrides?.expose });
}

/** The agent of a run does not exist, or is not ready. */
class AgentUnavailableError extends Error {
  override readonly name = 'AgentUnavailableError';
}

interface Opened {
  readonly stores: ServiceStores;
  readonly opened: OpenedAgent;
  readonly options: RunOptions;
  readonly storeIsWhole: boolean;
}

async function eventsOf(held: HeldRun, claimed: ClaimedRun, about: Opened): Promise<AsyncIterable<StreamEvent>> {
  const { run, turn, approvals } = claimed;
  const { stores, options, storeIsWhole } = about;
  const { toolChoice } = options.settings ?? {};
  const { runId, threadId, turnId } = run;
  const history = await loadHistory(stores, threadId, run);
  const { system: ofThread, input } = await instructed(held, claimed, about, history);
  const system = withInstructions(ofThread, options.settings);
  const common = { ...commonOptions(held, about), history, ...(system === undefined ? {} : { system }) };
  const tracing = { parent: options.trace };
  if (held.state.nextSeq === 0) {
    const choice = toolChoice === undefined ? {} : { toolChoice };
    const begun = { ...common, ...choice, input: [...input, ...turn.input], runId, threadId, turnId };
    return traceRun(runAgent, begun, tracing);
  }
  const resumed = { ...common, events: held.earlier };
  // This process now owns the run. A process that lost the run may still hold the script, so this process forces the
  // claim of the script.
  if (held.state.done === undefined) return traceRun(recoverRun, { ...resumed, force: true, storeIsWhole }, tracing);
  const decisions = decisionsOf(approvals, held.state.done.approval_ids);
  return traceRun(resumeRun, { ...resumed, decisions, mayBeResumed: run.reason === 'interrupted' }, tracing);
}

/** The instructions for the thread's model, and the text before the prompt of a new run. */
async function instructed(
  held: HeldRun,
  { run }: ClaimedRun,
  { stores: { threads, documents }, opened, options }: Opened,
  history: readonly OutputItem[],
) {
  const { runId, threadId, epoch } = run;
  const { agent, provider, harness } = opened;
  const mode = narrowerMode(agent.mode ?? harness.mode, options.overrides?.mode);
  const current = { agentId: agent.slug, model: provider.model, system: agentSystem(harness, provider, agent, mode) };
  const compared = compareInstructions(await threads.instructions(threadId), current);
  if (held.state.nextSeq > 0) return { system: compared.system, input: [] };
  if (compared.toSave !== undefined) await threads.saveInstructions(threadId, compared.toSave, { runId, epoch });
  const hasCabinet = harness.tools().some(({ name }) => name === 'fetchFromFC');
  const files = hasCabinet ? await fileAnnouncement(documents, threadId, history) : undefined;
  return { system: compared.system, input: [compared.announcement, files].filter((item) => item !== undefined) };
}

function commonOptions(held: HeldRun, { opened, options: { overrides, settings } }: Opened) {
  const { agent, provider, harness, app, context, loadImage, subAgents } = opened;
  const principal = scriptPrincipal(held.run.principal);
  const mode = narrowerMode(agent.mode ?? harness.mode, overrides?.mode);
  const ceilings = { ...DEFAULT_LIMITS, ...AGENT_LIMITS, ...harness.hostLimits, ...agent.limits };
  const limits = narrowLimits(ceilings, overrides?.limits);
  return {
    provider,
    harness,
    agent: withSettings(agent, settings),
    mode,
    limits,
    ...sharedSettings(settings),
    signal: held.signal,
    flushEvents: () => held.flushEvents(),
    scriptSourceDeltas: true,
    ...(app === undefined ? {} : { app }),
    ...(context === undefined ? {} : { context }),
    ...(loadImage === undefined ? {} : { loadImage }),
    ...(subAgents === undefined ? {} : { subAgents }),
    ...(principal === undefined ? {} : { principal }),
  };
}

/** Users' decisions about the pending approvals. The harness reports expired approvals. */
function decisionsOf(approvals: readonly Approval[], pending: readonly string[] = []): Decisions {
  const decided = approvals.filter(({ approvalId }) => pending.includes(approvalId));
  return Object.fromEntries(
    decided.flatMap(({ approvalId, decision }) => (decision === undefined ? [] : [[approvalId, decision]])),
  ) as Decisions;
}

/**
 * Whether a store caused the error. Unless the run was deleted, the run then continues later, or in another process.
 */
function isOfStore(error: unknown): boolean {
  return isLoss(error) || (error instanceof Error && error.name === 'StoreUnavailableError');
}

function fail(held: HeldRun, error: unknown): void {
  const { name, message } = error instanceof Error ? error : { name: 'Error', message: String(error) };
  const isExpected = name === 'AgentUnavailableError' || name === 'ToolscriptUsageError';
  if (held.state.nextSeq === 0) held.emit({ type: 'response_start' });
  held.emit({
    type: 'response_error',
    code: isExpected ? 'AgentUnavailableError' : 'HarnessInternalError',
    message: isExpected
      ? message
      : 'The run ended because of a fault of Toolscript. Look for the error in the log of the server, and report it.',
  });
  if (!isExpected) held.reportFault(error);
}
