import { isRemember, isTime } from '../approvals/index.js';
import {
  DEFAULT_LIMITS,
  scriptFailure,
  ToolscriptUsageError,
  withinCeilings,
  type Decision,
  type ErrorCode,
  type JournalContent,
  type Limits,
  type LimitsInput,
  type Outcome,
  type RunIdentity,
  type ScriptExecutionItem,
} from '../protocol/index.js';
import { restoreScript } from '../script/index.js';
import {
  afterInterruption,
  afterSuspension,
  noopJournal,
  type InterruptedScript,
  type ResumeState,
  type TaskEnd,
  type ScriptStart,
  type SuspendedScript,
} from '../session/index.js';
import { journalState, type EndedLine, type JournalState } from '../durability/journal-lines.js';
import {
  damagedBy,
  keepingOf,
  mayIgnore,
  noSuchScript,
  readKept,
  refused,
  RESUMED_ONCE,
  claimScript,
  claimedScript,
  claimSuspended,
  UNKNOWN_VERSION,
} from '../durability/claims.js';
import { announce, announceOutcome, announceStatus, executionItem, endRun, type RunEnd } from './script-runner.js';
import { outcomeOfCall, sinkOfCall, storedCall } from './saved-call.js';
import { internalFault } from '../protocol/internal-fault.js';
import { present } from '../protocol/json.js';
import { runSession, type RunHost, type HarnessServices } from './script-run.js';
import { claimInProcess } from '../durability/process-suspensions.js';
import { listedAs } from '../durability/store-journal.js';
import { SealError } from '../durability/suspension-envelope.js';
import {
  openSuspension,
  suspendedStatus,
  type ItemNames,
  type ScriptFrame,
  type Suspension,
  type ClaimedScript,
} from '../durability/suspensions.js';

/** The decisions, by approval id. Omitted approvals stay pending. */
export type Decisions = Readonly<Record<string, Decision>>;

/**
 * The inputs of the host that resumes a script. `ceilings`: each ceiling applies if it is lower than the script's own
 * limit.
 */
export interface ResumeHost extends RunHost {
  ceilings: Partial<LimitsInput>;
  /** Ids for the events of a recovered script. A resumed script keeps its own ids. */
  identity: RunIdentity;
  /** The item that a recovered script already has. Default: a new item. */
  item?: { readonly id: string; readonly call_id: string } | undefined;
}

/**
 * A suspended script: its suspension, and the sealed text of the suspension. `force`: the script is claimed even if
 * another process may hold it.
 */
export interface WaitingScript {
  suspension: Suspension;
  text: string;
  force?: boolean;
}

/** Resumes a script at the exact await. `onClaimed`: called once this process has claimed the script. */
export async function resumeScript(
  services: HarnessServices,
  { suspension, text, force = false }: WaitingScript,
  decisions: Decisions,
  host: ResumeHost,
  onClaimed: () => void = () => {},
): Promise<RunEnd> {
  const { header, frame, script, memory } = suspension;
  const { scriptId } = header;
  const again = { start: script.start, frame, memory };
  if (services.keeping === undefined) {
    if (!claimInProcess(header)) return refused(scriptId, RESUMED_ONCE);
    services.inProcess?.delete(scriptId);
    const kept = { journal: undefined, epoch: header.epoch + 1 };
    onClaimed();
    return continueScript(services, host, { ...again, earlier: afterSuspension(script, new Map()), kept, decisions });
  }
  const line = { t: 'resumed', atMs: Date.now(), decisions } as const;
  const taken = await claimSuspended(services, header, text, {
    force,
    lines: [JSON.stringify(line)],
    status: { state: 'running', ...listedAs(frame.identity, script.start.principal) },
  });
  if ('outcome' in taken) return taken;
  onClaimed();
  const kept = claimedScript(services, taken, scriptId, frame.identity, script.start.principal);
  const recorded = journalState(taken.content);
  const earlier = afterSuspension(script, writtenTaskEnds(script, recorded));
  return continueScript(services, host, {
    ...again,
    earlier,
    kept,
    decisions: { ...recorded?.decisions, ...decisions },
  });
}

export function waitsForNobody(scriptId: string): RunEnd {
  return refused(
    scriptId,
    'This script was interrupted and has no pending approval. Use `recover` to continue the script.',
  );
}

/**
 * A stored script that needs to be resumed or recovered. `recorded`: the state of a script that was interrupted or has
 * ended.
 */
export type Recoverable = WaitingScript | { recorded: JournalState };

interface Asked {
  principal?: string | undefined;
  force?: boolean | undefined;
  evenEnded?: boolean | undefined;
}

/** Finds a suspended or interrupted script, or returns the reason why the script cannot be continued. */
export async function findRecoverable(
  services: HarnessServices,
  scriptId: string,
  asked: Asked,
  method = 'recover',
): Promise<Recoverable | RunEnd> {
  const kept = await readKept(services, scriptId, method);
  if ('outcome' in kept) return kept;
  const { content } = kept;
  return content === undefined
    ? refused(scriptId, noSuchScript(scriptId))
    : recoverable(services, scriptId, content, asked);
}

function recoverable(
  services: HarnessServices,
  scriptId: string,
  content: JournalContent,
  { principal, force = false, evenEnded = false }: Asked,
): Recoverable | RunEnd {
  const { damage } = content;
  // defence: damaged-journals-are-not-resumed
  if (damage !== undefined && !mayIgnore(damage, content, force)) return refused(scriptId, damagedBy(damage));
  const recorded = journalState(content);
  if (recorded === undefined) return refused(scriptId, UNKNOWN_VERSION);
  // defence: recover-asks-for-the-principal
  if (recorded.script.start.principal !== principal)
    return refused(scriptId, 'This script belongs to another principal. Pass the principal that started it.');
  const foreign = foreignBridge(services, recorded.script.start);
  if (foreign !== undefined) return refused(scriptId, foreign);
  if (recorded.ended !== undefined && !evenEnded)
    return refused(scriptId, 'This script has already ended, so it cannot be resumed. Read its outcome in the store.');
  // Without a readable suspension, replaying the tape leads to the same state.
  if (recorded.suspension === undefined || recorded.ended !== undefined) return { recorded };
  const suspension = open(services, recorded.suspension);
  if (typeof suspension === 'string') return refused(scriptId, suspension);
  return { suspension, text: recorded.suspension, force };
}

/**
 * Recovers an interrupted script. The journal at the time of the claim counts, not the journal that was read before. If
 * the script turns out to be suspended, the function releases and returns the script. The first process did not emit
 * the end of the script's events, so recovery emits the events again.
 */
export async function recoverScript(
  services: HarnessServices,
  scriptId: string,
  host: ResumeHost,
  { principal, force }: Asked,
): Promise<RunEnd | WaitingScript> {
  const keeping = keepingOf(services, 'recover');
  const lines = [JSON.stringify({ t: 'resumed', atMs: Date.now(), decisions: {} })];
  const taken = await claimScript(services, scriptId, { force, lines });
  if ('outcome' in taken) return taken;
  const found = recoverable(services, scriptId, taken.content, { principal, force });
  if (!('recorded' in found)) {
    await keeping.leases.release(scriptId, taken.epoch);
    return found;
  }
  const { script, decisions } = found.recorded;
  const { start } = script;
  const { sink, identity } = host;
  const { callId } = found.recorded;
  const text = { source: start.script.source, language: 'ts', format: 'tool' } as const;
  const isSilent = !sink.hasListeners || callId !== undefined;
  const item = isSilent ? undefined : itemOf(host, executionItem(text, restoreScript(start.script), scriptId));
  const frame: ScriptFrame = { identity, language: text.language, format: text.format, item, ...present({ callId }) };
  const kept = claimedScript(services, taken, scriptId, identity, start.principal);
  return continueScript(services, host, { start, earlier: afterInterruption(script), frame, kept, decisions });
}

/**
 * Reports the outcome of a script that has ended, as the script's tape records it. Calls no tool and writes nothing.
 */
export async function reportEnd(
  services: HarnessServices,
  scriptId: string,
  recorded: JournalState,
  host: ResumeHost,
): Promise<RunEnd> {
  const { script, callId, ended } = recorded;
  const { start } = script;
  const replayed = await replay(services, script, host);
  const outcome = endedAs(replayed, ended!);
  if (outcome === undefined)
    return refused(
      scriptId,
      'This script has ended, but its outcome cannot be restored from the store. Check its effects before you run it again.',
    );
  const { limits } = runOf(start, host);
  if (callId !== undefined)
    return { outcome: outcomeOfCall(services, outcome, { ...storedCall(start), callId, limits }) };
  const { sink } = host;
  if (!sink.hasListeners) return { outcome };
  const { source } = start.script;
  const text = { source, language: 'ts', format: 'tool' } as const;
  const item = itemOf(host, executionItem(text, restoreScript(start.script), scriptId));
  announceOutcome(sink, item, outcome, { source, tokenBudget: limits.modelOutputTokens });
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

function itemOf({ item, sink }: ResumeHost, announced: ScriptExecutionItem): ItemNames {
  return item === undefined ? announce(sink, announced) : { id: item.id, callId: item.call_id, reported: true };
}

/** Stores decisions about a suspended script without resuming it. */
export async function decideScript(
  services: HarnessServices,
  { suspension: { header, script }, text }: WaitingScript,
  decisions: Decisions,
): Promise<RunEnd | { undecided: readonly string[] }> {
  const keeping = keepingOf(services, 'decide');
  const kept = await readKept(services, header.scriptId, 'decide');
  if ('outcome' in kept) return kept;
  const known = { ...(kept.content === undefined ? {} : journalState(kept.content)?.decisions), ...decisions };
  const requests = script.calls.waiting.map(({ request }) => request);
  const taken = await claimSuspended(services, header, text, {
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
  scriptId: string,
  host: ResumeHost,
  principal: string | undefined,
): Promise<RunEnd> {
  const kept = await readKept(services, scriptId, 'replay');
  if ('outcome' in kept) return kept;
  const { content } = kept;
  if (content === undefined) return refused(scriptId, noSuchScript(scriptId));
  if (content.damage !== undefined) return refused(scriptId, damagedBy(content.damage));
  const recorded = journalState(content);
  if (recorded === undefined) return refused(scriptId, UNKNOWN_VERSION);
  // defence: replay-asks-for-the-principal
  if (recorded.script.start.principal !== principal)
    return refused(scriptId, 'This script belongs to another principal. Pass the principal that started it.');
  return { outcome: await replay(services, recorded.script, host) };
}

async function replay(services: HarnessServices, script: InterruptedScript, host: ResumeHost): Promise<Outcome> {
  const end = await runSession(services, {
    ...host,
    ...runOf(script.start, host),
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
    throw new ToolscriptUsageError('decisions must be an object: { [approvalId]: "approve" | "deny" | { … } }.');
  const waiting = script.calls.waiting.map(({ request }) => request.approvalId);
  for (const [approvalId, decision] of Object.entries(decisions)) {
    if (!waiting.includes(approvalId))
      throw new ToolscriptUsageError(
        `decisions: no approval "${approvalId}" is pending. ${waiting.length === 0 ? 'Resume this script without decisions' : `Decide about a pending one: ${waiting.join(', ')}`}.`,
      );
    if (!isDecision(decision))
      throw new ToolscriptUsageError(
        `decisions: the decision about ${approvalId} must be "approve", "deny" or { decision, input?, note?, remember?, expiresAt? }, where note is text, remember "script", "plan" or "workspace", and expiresAt a number of ms since 1970.`,
      );
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
export function openFor(services: HarnessServices, text: string, principal: string | undefined): Suspension | RunEnd {
  const suspension = open(services, text);
  if (typeof suspension === 'string') return refused(undefined, suspension);
  // defence: resume-asks-for-the-principal, without it: return suspension;
  if (suspension.header.principal === principal) return ofKnownBridge(services, suspension);
  return refused(
    suspension.header.scriptId,
    'This suspension belongs to another principal. Pass the principal that started the script.',
  );
}

function ofKnownBridge(services: HarnessServices, suspension: Suspension): Suspension | RunEnd {
  const foreign = foreignBridge(services, suspension.script.start);
  return foreign === undefined ? suspension : refused(suspension.header.scriptId, foreign);
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
    ended.flatMap(({ callIndex, operation }): [number, TaskEnd][] => {
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
  memory?: Suspension['memory'];
}

async function continueScript(services: HarnessServices, host: ResumeHost, again: Again): Promise<RunEnd> {
  const { start, earlier, frame, kept, decisions, memory } = again;
  const sink = frame.callId === undefined ? host.sink : sinkOfCall(host.sink, frame.callId);
  if (frame.item !== undefined) announceStatus(sink, frame.item.id, 'executing');
  const run = runOf(start, host);
  const end = await runSession(services, {
    ...host,
    ...run,
    sink,
    cacheHit: earlier.spent?.cacheHit ?? false,
    journal: kept.journal ?? noopJournal,
    earlier,
    decisions: new Map(Object.entries(decisions)),
    ...(memory === undefined ? {} : { memory }),
  });
  const reported = { source: start.script.source, tokenBudget: run.limits.modelOutputTokens };
  const ended = await endRun(services, {
    end,
    frame,
    sink,
    signal: host.signal,
    kept,
    inAnswer: host.inAnswer,
    reported,
  });
  if (frame.callId === undefined) return ended;
  const call = { ...storedCall(start), callId: frame.callId, limits: run.limits };
  return { ...ended, outcome: outcomeOfCall(services, ended.outcome, call) };
}

function runOf(start: ScriptStart, { ceilings }: Pick<ResumeHost, 'ceilings'>) {
  const { scriptId, script, principal, toolNames, contextJson, seed, clockMs } = start;
  const limits = resumedLimits(start, ceilings);
  return { scriptId, script: restoreScript(script), limits, principal, toolNames, contextJson, seed, clockMs };
}

/** Returns the limits of a resumed script. A limit that is missing in the stored script gets its default. */
export function resumedLimits({ limits }: ScriptStart, ceilings: Partial<LimitsInput>): Limits {
  return withinCeilings({ ...DEFAULT_LIMITS, ...limits }, ceilings);
}
