import { isRemember, isTime } from '../calls/approvals/index.js';
import {
  DEFAULT_LIMITS,
  scriptFailure,
  ToolscriptUsageError,
  withinCeilings,
  type Decision,
  type ErrorCode,
  type JournalContent,
  type LimitsInput,
  type Outcome,
  type ScriptExecutionItem,
} from '../protocol/index.js';
import { restoreScript } from '../script/index.js';
import { callIdIndex } from '../calls/facade/index.js';
import {
  afterInterruption,
  afterSuspension,
  noopJournal,
  type InterruptedScript,
  type ResumeState,
  type TaskEnd,
  type ScriptStart,
  type SuspendedScript,
} from '../calls/session/index.js';
import { journalState, storedCall, type EndedLine, type JournalState } from './durability/journal-lines.js';
import {
  damagedBy,
  requireKeeping,
  noSuchScript,
  readStoredScript,
  claimRefusal,
  refusalOfDamaged,
  RESUMED_ONCE,
  claimScript,
  claimedScript,
  claimSuspendedScript,
  UNKNOWN_VERSION,
} from './durability/claims.js';
import {
  announce,
  announceOutcome,
  announceStatus,
  closeCell,
  executionItem,
  endRun,
  type ScriptRunEnd,
} from './script-runner.js';
import { savedCallContext, outcomeOfCall } from './saved-call.js';
import { internalFault } from '../protocol/internal-fault.js';
import type { PayloadSink, RunContext } from '../protocol/run-context.js';
import { runSession, type HarnessServices } from './script-run.js';
import { claimInProcess } from './durability/process-suspensions.js';
import { listedAs } from './durability/store-journal.js';
import { SealError } from './durability/suspension-envelope.js';
import {
  openSuspension,
  suspendedStatus,
  type ItemNames,
  type ScriptFrame,
  type Suspension,
  type ClaimedScript,
} from './durability/suspensions.js';

/** The decisions, by approval id. Omitted approvals stay pending. */
export type Decisions = Readonly<Record<string, Decision>>;

/** The values of the host that resumes a script, besides the context of the run. */
export interface ResumeHost {
  /** Each ceiling applies if it is lower than the script's own limit. */
  readonly ceilings: Partial<LimitsInput>;
  /** The item that a recovered script already has. Default: a new item. */
  readonly item?: { readonly id: string; readonly call_id: string } | undefined;
}

/**
 * A suspended script: its suspension, and the sealed text of the suspension. `force`: the script is claimed even if
 * another process may hold it.
 */
export interface WaitingScript {
  suspension: Suspension;
  text: string;
  force?: boolean | undefined;
}

/** Resumes a script at the exact await. `onClaimed`: called once this process has claimed the script. */
export async function resumeScript(
  services: HarnessServices,
  context: RunContext,
  { suspension, text, force = false }: WaitingScript,
  { decisions, ceilings, onClaimed }: ResumeHost & { decisions: Decisions; onClaimed?: (() => void) | undefined },
): Promise<ScriptRunEnd> {
  const { header, frame, script, memory } = suspension;
  const resumed = resumedContext(context, script.start, ceilings);
  const { scriptId } = header;
  const again = { start: script.start, frame, memory };
  if (services.keeping === undefined) {
    if (!claimInProcess(header)) return claimRefusal(scriptId, RESUMED_ONCE);
    services.inProcess?.delete(scriptId);
    const kept = { journal: undefined, epoch: header.epoch + 1 };
    onClaimed?.();
    return continueScript(services, resumed, {
      ...again,
      earlier: afterSuspension(script, new Map()),
      kept,
      decisions,
    });
  }
  const line = { t: 'resumed', atMs: Date.now(), decisions } as const;
  const taken = await claimSuspendedScript(services, header, text, {
    force,
    lines: [JSON.stringify(line)],
    status: { state: 'running', ...listedAs(context) },
  });
  if ('outcome' in taken) return taken;
  onClaimed?.();
  const kept = claimedScript(services, context, scriptId, taken);
  const recorded = journalState(taken.content);
  const earlier = afterSuspension(script, writtenTaskEnds(script, recorded));
  return continueScript(services, resumed, {
    ...again,
    earlier,
    kept,
    decisions: { ...recorded?.decisions, ...decisions },
  });
}

export function waitsForNobody(scriptId: string): ScriptRunEnd {
  return claimRefusal(
    scriptId,
    'This script was interrupted and has no pending approval. Use `recover` to continue the script.',
  );
}

/**
 * A stored script that needs to be resumed or recovered. `recorded`: the state of a script that was interrupted or has
 * ended.
 */
export type Recoverable = WaitingScript | { recorded: JournalState };

interface ResumeRequest {
  principal?: string | undefined;
  force?: boolean | undefined;
  evenEnded?: boolean | undefined;
}

/** Finds a suspended or interrupted script, or returns the reason why the script cannot be continued. */
export async function findRecoverable(
  services: HarnessServices,
  scriptId: string,
  asked: ResumeRequest,
  method = 'recover',
): Promise<Recoverable | ScriptRunEnd> {
  const kept = await readStoredScript(services, scriptId, method);
  if ('outcome' in kept) return kept;
  const { content } = kept;
  return content === undefined
    ? claimRefusal(scriptId, noSuchScript(scriptId))
    : recoverable(services, scriptId, content, asked);
}

function recoverable(
  services: HarnessServices,
  scriptId: string,
  content: JournalContent,
  { principal, force = false, evenEnded = false }: ResumeRequest,
): Recoverable | ScriptRunEnd {
  const damaged = refusalOfDamaged(scriptId, content, force);
  if (damaged !== undefined) return damaged;
  const recorded = journalState(content);
  if (recorded === undefined) return claimRefusal(scriptId, UNKNOWN_VERSION);
  // defence: recover-asks-for-the-principal
  if (recorded.script.start.principal !== principal)
    return claimRefusal(scriptId, 'This script belongs to another principal. Pass the principal that started it.');
  const foreign = foreignBridge(services, recorded.script.start);
  if (foreign !== undefined) return claimRefusal(scriptId, foreign);
  if (recorded.ended !== undefined && !evenEnded)
    return claimRefusal(
      scriptId,
      'This script has already ended, so it cannot be resumed. Read its outcome in the store.',
    );
  // Without a readable suspension, replaying the tape leads to the same state.
  if (recorded.suspension === undefined || recorded.ended !== undefined) return { recorded };
  const suspension = open(services, recorded.suspension);
  if (typeof suspension === 'string') return claimRefusal(scriptId, suspension);
  return { suspension, text: recorded.suspension, force };
}

/**
 * Recovers an interrupted script. The journal at the time of the claim counts, not the journal that was read before. If
 * the script turns out to be suspended, the function releases and returns the script. The first process did not emit
 * the end of the script's events, so recovery emits the events again.
 */
export async function recoverScript(
  services: HarnessServices,
  context: RunContext,
  scriptId: string,
  { force, ...host }: ResumeHost & Pick<ResumeRequest, 'force'>,
): Promise<ScriptRunEnd | WaitingScript> {
  const keeping = requireKeeping(services, 'recover');
  const lines = [JSON.stringify({ t: 'resumed', atMs: Date.now(), decisions: {} })];
  const taken = await claimScript(services, scriptId, { force, lines });
  if ('outcome' in taken) return taken;
  const found = recoverable(services, scriptId, taken.content, { principal: context.principal, force });
  if (!('recorded' in found)) {
    await keeping.leases.release(scriptId, taken.epoch);
    return found;
  }
  const { script, decisions } = found.recorded;
  const { start } = script;
  const { sink, identity } = context;
  const { callId } = found.recorded;
  const text = { source: start.script.source, language: 'ts', format: 'tool' } as const;
  const isSilent = !sink.hasListeners || callId !== undefined;
  const item = isSilent
    ? undefined
    : resumedItem(sink, host, executionItem(text, restoreScript(start.script), scriptId));
  const frame: ScriptFrame = { identity, language: text.language, format: text.format, item, callId };
  const kept = claimedScript(services, context, scriptId, taken);
  const resumed = resumedContext(context, start, host.ceilings);
  return continueScript(services, resumed, { start, earlier: afterInterruption(script), frame, kept, decisions });
}

/**
 * Reports the outcome of a script that has ended, as the script's tape records it. Calls no tool and writes nothing.
 */
export async function reportEnd(
  services: HarnessServices,
  given: RunContext,
  recorded: JournalState,
  host: ResumeHost,
): Promise<ScriptRunEnd> {
  const { script, callId, ended } = recorded;
  const { start } = script;
  const { scriptId } = start;
  const context = resumedContext(given, start, host.ceilings);
  const replayed = await replay(services, context, script);
  const outcome = endedAs(replayed, ended!);
  if (outcome === undefined)
    return claimRefusal(
      scriptId,
      'This script has ended, but its outcome cannot be restored from the store. Check its effects before you run it again.',
    );
  const { sink } = context;
  if (callId !== undefined)
    return { outcome: outcomeOfCall(services, context, outcome, { ...storedCall(start), callId }) };
  if (!sink.hasListeners) return { outcome };
  const { source } = start.script;
  const text = { source, language: 'ts', format: 'tool' } as const;
  const item = resumedItem(sink, host, executionItem(text, restoreScript(start.script), scriptId));
  announceOutcome(context, item, outcome, source);
  return { outcome };
}

/**
 * Returns the replayed outcome with the end that the journal records, because the journal decides. Undefined if the
 * replay contradicts the journal.
 */
function endedAs(replayed: Outcome, { status, code, message }: EndedLine): Outcome | undefined {
  if (replayed.status !== status) return undefined;
  if (replayed.status !== 'failed' || replayed.error.code === code) return replayed;
  return { ...replayed, error: scriptFailure(code as ErrorCode, message ?? '') };
}

function resumedItem(sink: PayloadSink, { item }: ResumeHost, announced: ScriptExecutionItem): ItemNames {
  return item === undefined ? announce(sink, announced) : { id: item.id, callId: item.call_id, reported: true };
}

/** Stores decisions about a suspended script without resuming it. */
export async function decideScript(
  services: HarnessServices,
  { suspension: { header, script }, text }: WaitingScript,
  decisions: Decisions,
): Promise<ScriptRunEnd | { undecided: readonly string[] }> {
  const keeping = requireKeeping(services, 'decide');
  const kept = await readStoredScript(services, header.scriptId, 'decide');
  if ('outcome' in kept) return kept;
  const known = { ...(kept.content === undefined ? {} : journalState(kept.content)?.decisions), ...decisions };
  const requests = script.calls.waiting.map(({ request }) => request);
  const taken = await claimSuspendedScript(services, header, text, {
    lines: [JSON.stringify({ t: 'decided', atMs: Date.now(), decisions })],
    status: suspendedStatus({ ...script.start, ...header }, requests, known),
  });
  if ('outcome' in taken) return taken;
  await keeping.leases.release(header.scriptId, taken.epoch);
  return { undecided: requests.map(({ approvalId }) => approvalId).filter((id) => known[id] === undefined) };
}

/** Replays a stored script along its tape and stops at the end of the tape. Calls no tool and writes nothing. */
export async function replayScript(
  services: HarnessServices,
  context: RunContext,
  scriptId: string,
): Promise<ScriptRunEnd> {
  const kept = await readStoredScript(services, scriptId, 'replay');
  if ('outcome' in kept) return kept;
  const { content } = kept;
  if (content === undefined) return claimRefusal(scriptId, noSuchScript(scriptId));
  if (content.damage !== undefined) return claimRefusal(scriptId, damagedBy(content.damage));
  const recorded = journalState(content);
  if (recorded === undefined) return claimRefusal(scriptId, UNKNOWN_VERSION);
  // defence: replay-asks-for-the-principal
  if (recorded.script.start.principal !== context.principal)
    return claimRefusal(scriptId, 'This script belongs to another principal. Pass the principal that started it.');
  const { script } = recorded;
  return { outcome: await replay(services, resumedContext(context, script.start, {}), script) };
}

async function replay(services: HarnessServices, context: RunContext, script: InterruptedScript): Promise<Outcome> {
  const end = await runSession(services, context, {
    ...(await startedRun(services, script.start)),
    cacheHit: false,
    journal: noopJournal,
    earlier: { ...afterInterruption(script), endsWithTape: true },
  });
  if (end.status === 'suspended') throw internalFault('The replay of a script was suspended.');
  return end;
}

/**
 * Checks decisions. Throws a `ToolscriptUsageError` if a decision is invalid, or is not about a pending approval of
 * this script.
 */
export function checkDecisions(decisions: unknown, { script }: Suspension): asserts decisions is Decisions {
  if (typeof decisions !== 'object' || decisions === null || Array.isArray(decisions))
    throw new ToolscriptUsageError('OPTION_INVALID', {
      option: 'decisions',
      expected: 'an object: { [approvalId]: "approve" | "deny" | { … } }',
    });
  const waiting = script.calls.waiting.map(({ request }) => request.approvalId);
  for (const [approvalId, decision] of Object.entries(decisions)) {
    if (!waiting.includes(approvalId))
      throw new ToolscriptUsageError('UNKNOWN_APPROVAL', {
        approvalId,
        advice:
          waiting.length === 0
            ? 'Resume this script without decisions'
            : `Decide about a pending one: ${waiting.join(', ')}`,
      });
    if (!isDecision(decision)) throw new ToolscriptUsageError('DECISION_INVALID', { approvalId });
  }
}

/**
 * Whether a decision is valid. The gate would treat an invalid decision as a denial, and the resume would use up the
 * suspension.
 */
function isDecision(decision: unknown): boolean {
  if (typeof decision !== 'object' || decision === null) return isAnswer(decision);
  const { decision: said, note, remember, expiresAt } = decision as Record<string, unknown>;
  const isNote = note === undefined || typeof note === 'string';
  if (expiresAt !== undefined && !isTime(expiresAt)) return false;
  return isAnswer(said) && isNote && (remember === undefined || isRemember(remember));
}

function isAnswer(said: unknown): boolean {
  return said === 'approve' || said === 'deny';
}

/** Returns the suspension, or the reason why the suspension cannot be resumed. */
export function openFor(
  services: HarnessServices,
  text: string,
  principal: string | undefined,
): Suspension | ScriptRunEnd {
  const suspension = open(services, text);
  if (typeof suspension === 'string') return claimRefusal(undefined, suspension);
  // defence: resume-asks-for-the-principal
  if (suspension.header.principal === principal) return ofKnownBridge(services, suspension);
  return claimRefusal(
    suspension.header.scriptId,
    'This suspension belongs to another principal. Pass the principal that started the script.',
  );
}

function ofKnownBridge(services: HarnessServices, suspension: Suspension): Suspension | ScriptRunEnd {
  const foreign = foreignBridge(services, suspension.script.start);
  return foreign === undefined ? suspension : claimRefusal(suspension.header.scriptId, foreign);
}

/**
 * Returns the reason why this release cannot resume the script: the tape contains calls in an unknown bridge version.
 */
function foreignBridge({ runtime }: HarnessServices, { bridge }: ScriptStart): string | undefined {
  const known = runtime.bridge?.known;
  // defence: known-bridges-only
  if (bridge === undefined || known === undefined || known.includes(bridge)) return undefined;
  return `This script uses version ${bridge} of the bridge, and this release supports ${known.join(', ')}. Resume it with the release that started it or a later one.`;
}

function open(services: HarnessServices, text: string): Suspension | string {
  try {
    return openSuspension(services, text);
  } catch (error) {
    if (error instanceof SealError) return `This suspension cannot be resumed: ${error.message}.`;
    throw error;
  }
}

/** Returns the recorded ends of tasks that ran when the script was suspended. No process can add more of them. */
function writtenTaskEnds(
  { running }: SuspendedScript,
  recorded: JournalState | undefined,
): ReadonlyMap<number, TaskEnd> {
  const results = new Map(recorded?.script.ready.map((settlement) => [settlement.callIndex, settlement]));
  const ended = recorded?.script.ended ?? [];
  return new Map(
    ended.flatMap((operation): [number, TaskEnd][] => {
      const callIndex = callIdIndex(operation.callId);
      const result = results.get(callIndex);
      return result === undefined || !running.includes(callIndex) ? [] : [[callIndex, { operation, result }]];
    }),
  );
}

interface Again {
  start: ScriptStart;
  earlier: ResumeState;
  frame: ScriptFrame;
  kept: ClaimedScript;
  decisions: Decisions;
  memory?: Suspension['memory'] | undefined;
}

async function continueScript(services: HarnessServices, resumed: RunContext, again: Again): Promise<ScriptRunEnd> {
  const { start, earlier, frame, kept, decisions, memory } = again;
  const context = frame.callId === undefined ? resumed : savedCallContext(resumed, frame.callId);
  if (frame.item !== undefined) announceStatus(context.sink, frame.item.id, 'executing');
  const run = await startedRun(services, start);
  const end = await runSession(services, context, {
    ...run,
    cacheHit: earlier.spent?.cacheHit ?? false,
    journal: kept.journal ?? noopJournal,
    earlier,
    decisions: new Map(Object.entries(decisions)),
    ...(memory === undefined ? {} : { memory }),
  });
  const { cell, compiled: script } = run;
  const closed = cell === undefined ? end : await closeCell(services, context, { cell, script, end });
  const ended = await endRun(services, context, { end: closed, frame, kept, source: start.script.source });
  if (frame.callId === undefined) return ended;
  const call = { ...storedCall(start), callId: frame.callId };
  return { ...ended, outcome: outcomeOfCall(services, context, ended.outcome, call) };
}

async function startedRun({ programs }: HarnessServices, start: ScriptStart) {
  const { scriptId, script, toolNames, contextJson, repeatsReadText, origin, seed, clockMs, principal } = start;
  const cell = start.cell === undefined ? undefined : await programs.reopen(start.cell, principal);
  return {
    scriptId,
    compiled: restoreScript(script),
    toolNames,
    contextJson,
    repeatsReadText,
    origin,
    seed,
    clockMs,
    cell,
  };
}

/**
 * Returns the context of a script that continues: with the limits of its start, within the ceilings. A limit that is
 * missing in the stored script gets its default.
 */
export function resumedContext<Context extends RunContext>(
  context: Context,
  { limits }: ScriptStart,
  ceilings: Partial<LimitsInput>,
): Context {
  return Object.freeze({ ...context, limits: withinCeilings({ ...DEFAULT_LIMITS, ...limits }, ceilings) });
}
