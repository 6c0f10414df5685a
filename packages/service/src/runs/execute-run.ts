import { agentBeginning, fileAnnouncement, newScriptNonce } from '@toolscript/core/agent';
import type { Decisions } from '@toolscript/core';
import {
  AGENT_LIMITS,
  DEFAULT_LIMITS,
  type Approval,
  type OutputItem,
  type Run,
  type ServiceStores,
  type StreamEvent,
} from '@toolscript/core/protocol';
import {
  compactingPart,
  narrowerMode,
  performPart,
  recoveredPart,
  resumedPart,
  resumedScriptPart,
  startedPart,
  type RunPart,
} from '@toolscript/core/internal';
import { StoreUnavailableError, type ClaimedRun, type ThreadInstructions } from '@toolscript/core/ports';
import { tracePart } from '@toolscript/core/tracing';
import type { AgentDirectory, OpenedAgent } from '../agents/index.js';
import { isLoss, type HeldRun } from './held-run.js';
import { sharedSettings, withInstructions, withSettings } from './model-settings.js';
import { scriptPrincipal } from '../principals.js';
import type { LongReads } from './long-reads.js';
import { loadNeededHistory } from './run-history.js';
import { areFilesWhole } from './run-owner.js';
import { narrowLimits, RunOptionsSchema, type RunOptions } from './run-options.js';
import { compareInstructions } from './thread-instructions.js';

export interface ExecutionParts {
  readonly stores: ServiceStores;
  readonly agents: AgentDirectory;
  /** The reads of other runs. Default: this run waits for none. */
  readonly longReads?: LongReads | undefined;
  /** The script that a user resumes or recovers with this run. */
  readonly script?: ScriptCommand | undefined;
  /**
   * The conversation in which a script is resumed, if it is not the one before the script's run: one with later prompts,
   * or one that is no longer stored.
   */
  readonly history?: readonly OutputItem[] | undefined;
}

/** A user's command to resume or recover one script. */
export interface ScriptCommand {
  readonly scriptId: string;
  readonly decisions: Decisions;
  /** True if an earlier process ended while it ran the script. False: the script waits for decisions. */
  readonly isInterrupted: boolean;
  /** Claims the script even if another process may still run it. */
  readonly force: boolean;
}

/**
 * Executes a claimed run until it ends, waits for decisions, or must stop. Never rejects because of a failure of the
 * run. Resolves to the error that ended the run or stopped the work; undefined if there was none.
 */
export async function executeRun(held: HeldRun, claimed: ClaimedRun, parts: ExecutionParts): Promise<unknown> {
  let fault: unknown;
  try {
    if (!held.state.isEnded && !endsUnbegun(held)) await work(held, claimed, parts);
  } catch (error) {
    fault = error;
    // A run that has begun is not destroyed by a process that cannot continue it.
    if (isOfAgent(error) && claimed.run.epoch > 1 && held.stopReason === undefined) {
      await held.park((error as Error).message);
      return error;
    }
    if (isOfStore(error)) held.leave(error);
    else fail(held, error);
  }
  if (held.stopReason === 'draining') await held.release();
  else await held.end();
  return fault;
}

/** Ends a run that was cancelled before its first event. Returns false for every other run. */
function endsUnbegun(held: HeldRun): boolean {
  if (held.stopReason !== 'cancelled' || held.state.nextSeq > 0) return false;
  held.emit({ type: 'response_start' });
  held.emit({ type: 'response_done', status: 'cancelled' });
  return true;
}

async function work(held: HeldRun, claimed: ClaimedRun, parts: ExecutionParts): Promise<void> {
  const options = RunOptionsSchema.parse(claimed.run.options);
  const before = await parts.stores.threads.instructions(claimed.run.threadId);
  const opened = await openAgent(parts.agents, options, before);
  held.observer?.agentOpened(opened);
  const part = await runPart(held, claimed, { ...parts, opened, options });
  const taking = new Taking(held);
  await tracePart(performPart, part, taking.take, { parent: options.trace });
  if (taking.fault !== undefined) throw taking.fault;
}

/** Gives the events of a part to the held run, until one of them, or the run itself, fails. */
class Taking {
  readonly #held: HeldRun;
  fault: unknown;

  constructor(held: HeldRun) {
    this.#held = held;
  }

  readonly take = (event: StreamEvent): void => {
    if (this.fault !== undefined) return;
    const { payload } = event;
    try {
      // The store failed before this process claimed the script, so the script keeps waiting.
      if (payload.type === 'response_error' && payload.code === 'StoreError')
        throw new StoreUnavailableError(payload.message);
      this.#held.take(event);
    } catch (error) {
      this.fault = error;
      this.#held.interrupt();
    }
  };
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

interface OpenedRun extends ExecutionParts {
  readonly opened: OpenedAgent;
  readonly options: RunOptions;
}

/** The part of the run that this claim performs. */
async function runPart(held: HeldRun, claimed: ClaimedRun, about: OpenedRun): Promise<RunPart> {
  const { run, turn, approvals } = claimed;
  const { opened, options, script } = about;
  const { toolChoice } = options.settings ?? {};
  const { runId, threadId, turnId } = run;
  const history = about.history ?? (await conversationBefore(run, about));
  const { nonce, system: ofThread, tools, input } = await instructedConversation(held, claimed, about, history);
  const system = withInstructions(ofThread, options.settings);
  const common = { ...commonOptions(held, about), history, nonce, system: system ?? '', tools };
  const isBegun = held.state.nextSeq > 0;
  if (options.compacts === true)
    return compactingPart({
      ...common,
      runId,
      threadId,
      turnId,
      events: held.earlier,
      input: [...input, ...turn.input],
    });
  if (script !== undefined && (!isBegun || about.history !== undefined)) {
    const { scriptId: suspension, decisions, isInterrupted, force } = script;
    const recover = isInterrupted ? { force } : undefined;
    const { nextSeq } = held.state;
    return resumedScriptPart({ ...common, runId, threadId, turnId, nextSeq, suspension, decisions, recover });
  }
  if (!isBegun) {
    const choice = toolChoice === undefined ? {} : { toolChoice };
    // A run that an earlier process claimed may have begun, although the event log has lost its events.
    const mayHaveBegun = run.epoch > 1;
    return startedPart({
      ...common,
      ...choice,
      input: [...input, ...turn.input],
      mayHaveBegun,
      runId,
      threadId,
      turnId,
    });
  }
  const resumed = { ...common, events: held.earlier };
  if (held.state.done === undefined) {
    // An earlier process suspended the script, and ended before the run was suspended.
    if (script?.isInterrupted === false) await opened.harness.decide(script.scriptId, script.decisions);
    // This process now owns the run. A process that lost the run may still hold the script, so this process forces the
    // claim of the script, unless the user must confirm that.
    return recoveredPart({ ...resumed, force: script?.force ?? true, storeIsWhole: areFilesWhole(run) });
  }
  const decisions = approvalDecisions(approvals, held.state.done.approval_ids);
  const mayBeResumed = run.reason === 'interrupted' || script?.isInterrupted === true;
  return resumedPart({ ...resumed, decisions, mayBeResumed });
}

/** The conversation before the run. Long ones of a principal are read one after the other. */
async function conversationBefore(run: Run, { stores, longReads }: ExecutionParts): Promise<readonly OutputItem[]> {
  const load = () => loadNeededHistory(stores, run);
  return longReads === undefined ? load() : longReads.read(run.principal, load);
}

/** The instructions for the thread's model, and the text before the prompt of a new run. */
async function instructedConversation(
  held: HeldRun,
  { run }: ClaimedRun,
  { stores: { threads, documents }, opened, options, script }: OpenedRun,
  history: readonly OutputItem[],
) {
  const { runId, threadId, epoch } = run;
  const { agent, provider, harness, model = provider.model } = opened;
  const mode = narrowerMode(agent.mode ?? harness.mode, options.overrides?.mode);
  const before = await threads.instructions(threadId);
  const nonce = before?.nonce ?? (agent.carrier === 'text' ? newScriptNonce() : undefined);
  const { clientFunctions } = options.settings ?? {};
  const beginning = agentBeginning(harness, provider, agent, { mode, nonce, clientFunctions });
  const compared = compareInstructions(before, { agentId: agent.slug, model, nonce, beginning });
  const { system, tools } = compared;
  if (held.state.nextSeq > 0 || script !== undefined) return { nonce, system, tools, input: [] };
  if (compared.toSave !== undefined) await threads.saveInstructions(threadId, compared.toSave, { runId, epoch });
  const hasCabinet = harness.tools().some(({ name }) => name === 'fetchFromFC');
  const files = hasCabinet ? await fileAnnouncement(documents, threadId, history) : undefined;
  return { nonce, system, tools, input: [compared.announcement, files].filter((item) => item !== undefined) };
}

function commonOptions(held: HeldRun, { opened, options }: OpenedRun) {
  const { overrides, settings, outputSchema = opened.outputSchema } = options;
  const { agent, provider, harness, app, context, loadImage, subAgents } = opened;
  const { runId, epoch } = held.run;
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
    fence: { runId, epoch },
    confirmHeld: () => held.confirmHeld(),
    flushEvents: () => held.flushEvents(),
    scriptSourceDeltas: true,
    outputSchema,
    ...(app === undefined ? {} : { app }),
    ...(context === undefined ? {} : { context }),
    ...(loadImage === undefined ? {} : { loadImage }),
    ...(subAgents === undefined ? {} : { subAgents }),
    ...(principal === undefined ? {} : { principal }),
  };
}

/** Users' decisions about the pending approvals. The harness reports expired approvals. */
function approvalDecisions(approvals: readonly Approval[], pending: readonly string[] = []): Decisions {
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

/** Whether the agent is missing, or cannot work in this process. */
function isOfAgent(error: unknown): boolean {
  return error instanceof Error && ['AgentUnavailableError', 'ToolscriptUsageError'].includes(error.name);
}

function fail(held: HeldRun, error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  const isExpected = isOfAgent(error);
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
