import { isRemember, isTime } from '../approvals/index.js';
import {
  DEFAULT_LIMITS,
  ToolscriptUsageError,
  withinCeilings,
  type Decision,
  type JournalContent,
  type Limits,
  type LimitsInput,
  type RunIdentity,
} from '../protocol/index.js';
import { restoreScript } from '../script/index.js';
import {
  afterInterruption,
  afterSuspension,
  noopJournal,
  type ResumeState,
  type TaskEnd,
  type ScriptStart,
  type SuspendedScript,
} from '../session/index.js';
import { journalState, type JournalState } from '../durability/journal-lines.js';
import {
  damagedBy,
  heldBy,
  keepingOf,
  mayIgnore,
  noSuchScript,
  readKept,
  refused,
  RESUMED_ONCE,
  take,
  claimedScript,
  claimSuspended,
  UNKNOWN_VERSION,
} from '../durability/claims.js';
import { announce, announceStatus, executionItem } from './script-items.js';
import { endRun, type RunEnd } from './script-runner.js';
import { outcomeOfCall, sinkOfCall } from './saved-call.js';
import { present } from '../text/present.js';
import { runSession, type RunHost, type HarnessServices } from './script-run.js';
import { claimInProcess } from '../durability/process-suspensions.js';
import { listedAs } from '../durability/store-journal.js';
import { SealError } from '../durability/suspension-envelope.js';
import {
  openSuspension,
  suspendedStatus,
  type ScriptFrame,
  type Suspension,
  type ClaimedScript,
} from '../durability/suspensions.js';

/** By approval. What is left out stays pending. */
export type Decisions = Readonly<Record<string, Decision>>;

/** Whoever resumes. `ceilings`: the limits that hold where they are smaller than the script's own. */
export interface ResumeHost extends RunHost {
  ceilings: Partial<LimitsInput>;
  /** Names for the events of a recovered script. A resumed one keeps its own. */
  identity: RunIdentity;
}

/** A script that waits: its suspension, and the text of it. `force`: even where somebody may still hold it. */
export interface WaitingScript {
  suspension: Suspension;
  text: string;
  force?: boolean;
}

/** Goes on with a script at the very place where it waits. `onTaken`: from here on it is this process's. */
export async function resumeScript(
  parts: HarnessServices,
  { suspension, text, force = false }: WaitingScript,
  decisions: Decisions,
  host: ResumeHost,
  onTaken: () => void = () => {},
): Promise<RunEnd> {
  const { header, frame, script, memory } = suspension;
  const { scriptId } = header;
  const again = { start: script.start, frame, memory };
  if (parts.keeping === undefined) {
    if (!claimInProcess(header)) return refused(scriptId, RESUMED_ONCE);
    parts.inProcess?.delete(scriptId);
    const kept = { journal: undefined, epoch: header.epoch + 1 };
    onTaken();
    return goOn(parts, host, { ...again, earlier: afterSuspension(script, new Map()), kept, decisions });
  }
  const line = { t: 'resumed', atMs: Date.now(), decisions } as const;
  const taken = await claimSuspended(parts, header, text, {
    force,
    lines: [JSON.stringify(line)],
    status: { state: 'running', ...listedAs(frame.identity, script.start.principal) },
  });
  if ('outcome' in taken) return taken;
  onTaken();
  const kept = claimedScript(parts, taken, scriptId, frame.identity, script.start.principal);
  const story = journalState(taken.content);
  const earlier = afterSuspension(script, writtenTaskEnds(script, story));
  return goOn(parts, host, { ...again, earlier, kept, decisions: { ...story?.decisions, ...decisions } });
}

export function waitsForNobody(scriptId: string): RunEnd {
  return refused(scriptId, 'This script waits for no decision: it was cut off. `recover` goes on with it.');
}

/** What the store has of a script that somebody has to go on with. `story`: it was cut off. */
export type Recoverable = WaitingScript | { story: JournalState };

/** Looks for a script whose process ended, or that waits; or says why nobody can go on with it. */
export async function findRecoverable(
  parts: HarnessServices,
  scriptId: string,
  { principal, force = false }: { principal?: string | undefined; force?: boolean | undefined },
  method = 'recover',
): Promise<Recoverable | RunEnd> {
  const kept = await readKept(parts, scriptId, method);
  if ('outcome' in kept) return kept;
  const { content, claim } = kept;
  if (content === undefined) return refused(scriptId, noSuchScript(scriptId));
  const found = recoverable(parts, scriptId, content, { principal, force });
  if ('outcome' in found) return found;
  // defence: living-processes-keep-their-scripts
  if (claim?.isHeld === true && !force) return refused(scriptId, heldBy(claim.owner));
  return found;
}

function recoverable(
  parts: HarnessServices,
  scriptId: string,
  content: JournalContent,
  { principal, force = false }: { principal?: string | undefined; force?: boolean | undefined },
): Recoverable | RunEnd {
  const { damage } = content;
  // defence: damaged-journals-do-not-go-on
  if (damage !== undefined && !mayIgnore(damage, content, force)) return refused(scriptId, damagedBy(damage));
  const story = journalState(content);
  if (story === undefined) return refused(scriptId, UNKNOWN_VERSION);
  // defence: recover-asks-for-the-principal
  if (story.script.start.principal !== principal) return refused(scriptId, 'This script is another principal’s.');
  const foreign = foreignBridge(parts, story.script.start);
  if (foreign !== undefined) return refused(scriptId, foreign);
  if (story.ended !== undefined) return refused(scriptId, 'This script has ended; there is nothing to go on with.');
  // One that cannot be read any more: the tape leads to the same place.
  if (story.suspension === undefined) return { story };
  const suspension = open(parts, story.suspension);
  if (typeof suspension === 'string') return refused(scriptId, suspension);
  return { suspension, text: story.suspension, force };
}

/**
 * Goes on with a script that was cut off: what its journal says when it is taken counts, not what it said before; where
 * it turns out to wait for people, it is given back. What its first process told of it has no end; it is told anew.
 */
export async function recoverScript(
  parts: HarnessServices,
  scriptId: string,
  host: ResumeHost,
  asked: { principal?: string | undefined; force?: boolean | undefined },
): Promise<RunEnd | WaitingScript> {
  const keeping = keepingOf(parts, 'recover');
  const lines = [JSON.stringify({ t: 'resumed', atMs: Date.now(), decisions: {} })];
  const taken = await take(parts, scriptId, { ...asked, lines });
  if ('outcome' in taken) return taken;
  const found = recoverable(parts, scriptId, taken.content, asked);
  if (!('story' in found)) {
    await keeping.leases.release(scriptId, taken.epoch);
    return found;
  }
  const { script, decisions } = found.story;
  const { start } = script;
  const { sink, identity } = host;
  const { callId } = found.story;
  const text = { source: start.script.source, language: 'ts', format: 'tool' } as const;
  const item =
    sink.hasListeners && callId === undefined
      ? announce(sink, executionItem(text, restoreScript(start.script)))
      : undefined;
  const frame: ScriptFrame = { identity, language: text.language, format: text.format, item, ...present({ callId }) };
  const kept = claimedScript(parts, taken, scriptId, identity, start.principal);
  return goOn(parts, host, { start, earlier: afterInterruption(script), frame, kept, decisions });
}

/** Writes down what somebody has decided about a script that waits, and leaves it where it is. */
export async function decideScript(
  parts: HarnessServices,
  { suspension: { header, script }, text }: WaitingScript,
  decisions: Decisions,
): Promise<RunEnd | { undecided: readonly string[] }> {
  const keeping = keepingOf(parts, 'decide');
  const kept = await readKept(parts, header.scriptId, 'decide');
  if ('outcome' in kept) return kept;
  const known = { ...(kept.content === undefined ? {} : journalState(kept.content)?.decisions), ...decisions };
  const requests = script.calls.waiting.map(({ request }) => request);
  const taken = await claimSuspended(parts, header, text, {
    lines: [JSON.stringify({ t: 'decided', atMs: Date.now(), decisions })],
    status: suspendedStatus({ ...script.start, ...header }, requests, known),
  });
  if ('outcome' in taken) return taken;
  await keeping.leases.release(header.scriptId, taken.epoch);
  return { undecided: requests.map(({ approvalId }) => approvalId).filter((id) => known[id] === undefined) };
}

/** Runs a kept script again along its tape, and no further: no tool is called, and nothing is written. */
export async function replayScript(
  parts: HarnessServices,
  scriptId: string,
  host: ResumeHost,
  principal: string | undefined,
): Promise<RunEnd> {
  const kept = await readKept(parts, scriptId, 'replay');
  if ('outcome' in kept) return kept;
  const { content } = kept;
  if (content === undefined) return refused(scriptId, noSuchScript(scriptId));
  if (content.damage !== undefined) return refused(scriptId, damagedBy(content.damage));
  const story = journalState(content);
  if (story === undefined) return refused(scriptId, UNKNOWN_VERSION);
  // defence: replay-asks-for-the-principal
  if (story.script.start.principal !== principal) return refused(scriptId, 'This script is another principal’s.');
  const { start } = story.script;
  const end = await runSession(parts, {
    ...host,
    ...runOf(start, host),
    cacheHit: false,
    journal: noopJournal,
    earlier: { ...afterInterruption(story.script), endsWithTape: true },
  });
  if (end.status === 'suspended') throw new Error('a replay cannot be put aside');
  return { outcome: end };
}

/** Throws a `ToolscriptUsageError` for what are no decisions about this script's approvals. */
export function checkDecisions(decisions: unknown, { script }: Suspension): asserts decisions is Decisions {
  if (typeof decisions !== 'object' || decisions === null || Array.isArray(decisions))
    throw new ToolscriptUsageError(
      'resume: decisions must be an object: { [approvalId]: "approve" | "deny" | { … } }.',
    );
  const waiting = script.calls.waiting.map(({ request }) => request.approvalId);
  for (const [approvalId, decision] of Object.entries(decisions)) {
    if (!waiting.includes(approvalId))
      throw new ToolscriptUsageError(
        `resume: no approval "${approvalId}" is pending; there ${waiting.length === 1 ? 'is' : 'are'} ${waiting.join(', ')}.`,
      );
    if (!isDecision(decision))
      throw new ToolscriptUsageError(
        `resume: the decision about ${approvalId} must be "approve", "deny" or { decision, input?, note?, remember?, expiresAt? }, where note is text, remember "script", "plan" or "workspace", and expiresAt a number of ms since 1970.`,
      );
  }
}

/** What the gate could not read would be taken for a refusal, and the suspension would be used up. */
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

/** The suspension, or why it cannot be resumed. */
export function openFor(parts: HarnessServices, text: string, principal: string | undefined): Suspension | RunEnd {
  const suspension = open(parts, text);
  if (typeof suspension === 'string') return refused(undefined, suspension);
  // defence: resume-asks-for-the-principal, without it: return suspension;
  if (suspension.header.principal === principal) return ofKnownBridge(parts, suspension);
  return refused(suspension.header.scriptId, 'This suspension is another principal’s.');
}

function ofKnownBridge(parts: HarnessServices, suspension: Suspension): Suspension | RunEnd {
  const foreign = foreignBridge(parts, suspension.script.start);
  return foreign === undefined ? suspension : refused(suspension.header.scriptId, foreign);
}

/** Why nobody here can go on with a script: its tape tells of calls that this release would not understand. */
function foreignBridge({ runtime }: HarnessServices, { bridge }: ScriptStart): string | undefined {
  const known = runtime.bridge?.known;
  // defence: known-bridges-only
  if (bridge === undefined || known === undefined || known.includes(bridge)) return undefined;
  return `This script was started by a release whose scripts speak version ${bridge} of the bridge; known here: ${known.join(', ')}. Resume it with that release or a later one.`;
}

function open(parts: HarnessServices, text: string): Suspension | string {
  try {
    return openSuspension(parts, text);
  } catch (error) {
    if (error instanceof SealError) return `This suspension cannot be resumed: ${error.message}.`;
    throw error;
  }
}

/** How tasks ended that ran when the script was suspended, as far as the journal says so. Nobody adds to it any more. */
function writtenTaskEnds({ running }: SuspendedScript, story: JournalState | undefined): ReadonlyMap<number, TaskEnd> {
  const results = new Map(story?.script.ready.map((settlement) => [settlement.callIndex, settlement]));
  const ended = story?.script.ended ?? [];
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

async function goOn(parts: HarnessServices, host: ResumeHost, again: Again): Promise<RunEnd> {
  const { start, earlier, frame, kept, decisions, memory } = again;
  const sink = frame.callId === undefined ? host.sink : sinkOfCall(host.sink, frame.callId);
  if (frame.item !== undefined) announceStatus(sink, frame.item.id, 'executing');
  const run = runOf(start, host);
  const end = await runSession(parts, {
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
  const ended = await endRun(parts, { end, frame, sink, kept, inAnswer: host.inAnswer, reported });
  return frame.callId === undefined ? ended : { ...ended, outcome: outcomeOfCall(ended.outcome, frame.callId) };
}

function runOf(start: ScriptStart, { ceilings }: Pick<ResumeHost, 'ceilings'>) {
  const { scriptId, script, principal, toolNames, contextJson, seed, clockMs } = start;
  const limits = resumedLimits(start, ceilings);
  return { scriptId, script: restoreScript(script), limits, principal, toolNames, contextJson, seed, clockMs };
}

/** A release that suspended the script may not have known every limit. */
export function resumedLimits({ limits }: ScriptStart, ceilings: Partial<LimitsInput>): Limits {
  return withinCeilings({ ...DEFAULT_LIMITS, ...limits }, ceilings);
}
