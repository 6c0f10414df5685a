import { isRemember } from '../approvals/index.js';
import {
  DEFAULT_LIMITS,
  scriptFailure,
  ToolscriptUsageError,
  type Decision,
  type ScriptFailure,
} from '../protocol/index.js';
import { restoreScript } from '../script/index.js';
import {
  afterInterruption,
  afterSuspension,
  unwrittenJournal,
  type EarlierLife,
  type ScriptStart,
} from '../session/index.js';
import { readStory, type JournalStory } from './journal-lines.js';
import { announce, announceStatus, executionItem } from './script-items.js';
import { endRun, failedOutcome, type RunEnd } from './script-runner.js';
import { runSession, tellOperator, type RunHost, type RunnerParts } from './script-run.js';
import { SealError } from './suspension-envelope.js';
import { openSuspension, takeOver, type ScriptFrame, type Suspension, type TakenOver } from './suspensions.js';

/** By approval. What is left out stays pending. */
export type Decisions = Readonly<Record<string, Decision>>;

/** Goes on with a script at the very place where it waits. `onTaken`: from here on it is this process's. */
export async function resumeScript(
  parts: RunnerParts,
  suspension: Suspension,
  decisions: Decisions,
  host: RunHost,
  onTaken: () => void = () => {},
): Promise<RunEnd> {
  const { header, frame, script } = suspension;
  const kept = await takeOverFor(parts, header, frame);
  if ('outcome' in kept) return kept;
  try {
    await kept.journal?.resumed({ atMs: Date.now(), decisions });
  } catch (error) {
    tellOperator(parts, header.scriptId, `the resume could not be written down: ${String(error)}`);
    // So that `recover` can go on with it, here too.
    await parts.store?.claim.release(header.scriptId, kept.epoch).catch(() => {});
    return refused(
      header.scriptId,
      'The decisions could not be written down, so nothing of them was done; the script still waits in its store.',
    );
  }
  onTaken();
  return goOn(parts, host, {
    start: script.start,
    earlier: afterSuspension(script),
    frame,
    kept,
    decisions,
    memory: suspension.memory,
  });
}

/** What the store has of a script that somebody has to go on with. */
export type Recoverable =
  /** It waits for people; where it had been resumed and nothing came of that, it still does. */
  { suspension: Suspension } | { story: JournalStory; epoch: number };

/** Looks for a script whose process ended, or that waits; or says why nobody can go on with it. */
export async function findRecoverable(
  parts: RunnerParts,
  scriptId: string,
  principal: string | undefined,
): Promise<Recoverable | RunEnd> {
  const { store } = parts;
  if (store === undefined) throw new ToolscriptUsageError('recover needs a harness with a store.');
  const story = await readKept(parts, scriptId);
  if (typeof story === 'string') return refused(scriptId, story);
  // defence: recover-asks-for-the-principal
  if (story.script.start.principal !== principal) return refused(scriptId, 'This script is another principal’s.');
  if (story.ended !== undefined) return refused(scriptId, 'This script has ended; there is nothing to go on with.');
  const claim = await store.claim.current(scriptId);
  // defence: living-processes-keep-their-scripts
  if (claim?.isHeld === true) return refused(scriptId, 'A living process goes on with this script.');
  const epoch = claim?.epoch ?? 0;
  const suspension = story.suspension === undefined ? undefined : open(parts, story.suspension);
  if (typeof suspension === 'string') return refused(scriptId, suspension);
  if (suspension === undefined) return { story, epoch };
  return { suspension: { ...suspension, header: { ...suspension.header, epoch } } };
}

/** Goes on with a script that was cut off. What its first process told of it has no end; it is told anew. */
export async function recoverScript(
  parts: RunnerParts,
  { script }: JournalStory,
  epoch: number,
  host: RunHost,
): Promise<RunEnd> {
  const { start } = script;
  const { stream } = host;
  const text = { source: start.script.source, language: 'ts', format: 'tool' } as const;
  const kept = await takeOverFor(parts, { scriptId: start.scriptId, epoch }, { identity: stream.identity });
  if ('outcome' in kept) return kept;
  const item = stream.isHeard ? announce(stream, executionItem(text, restoreScript(start.script))) : undefined;
  const frame: ScriptFrame = { identity: stream.identity, language: text.language, format: text.format, item };
  return goOn(parts, host, { start, earlier: afterInterruption(script), frame, kept, decisions: {} });
}

/** Runs a kept script again along its tape, and no further: no tool is called, and nothing is written. */
export async function replayScript(
  parts: RunnerParts,
  scriptId: string,
  host: RunHost,
  principal: string | undefined,
): Promise<RunEnd> {
  const story = await readKept(parts, scriptId);
  if (typeof story === 'string') return refused(scriptId, story);
  // defence: replay-asks-for-the-principal
  if (story.script.start.principal !== principal) return refused(scriptId, 'This script is another principal’s.');
  const { start } = story.script;
  const end = await runSession(parts, {
    ...host,
    ...runOf(start),
    cacheHit: false,
    journal: unwrittenJournal,
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
        `resume: the decision about ${approvalId} must be "approve", "deny" or { decision, input?, note?, remember? }, where note is text and remember "script", "plan" or "workspace".`,
      );
  }
}

/** What the gate could not read would be taken for a refusal, and the suspension would be used up. */
function isDecision(decision: unknown): boolean {
  if (typeof decision !== 'object' || decision === null) return isAnswer(decision);
  const { decision: said, note, remember } = decision as Record<string, unknown>;
  const isNote = note === undefined || typeof note === 'string';
  return isAnswer(said) && isNote && (remember === undefined || isRemember(remember));
}

function isAnswer(said: unknown): boolean {
  return said === 'approve' || said === 'deny';
}

/** The suspension, or why it cannot be resumed. */
export function openFor(parts: RunnerParts, text: string, principal: string | undefined): Suspension | RunEnd {
  const suspension = open(parts, text);
  if (typeof suspension === 'string') return refused(undefined, suspension);
  // defence: resume-asks-for-the-principal, without it: return suspension;
  if (suspension.header.principal === principal) return suspension;
  return refused(suspension.header.scriptId, 'This suspension is another principal’s.');
}

function open(parts: RunnerParts, text: string): Suspension | string {
  try {
    return openSuspension(parts, text);
  } catch (error) {
    if (error instanceof SealError) return `This suspension cannot be resumed: ${error.message}.`;
    throw error;
  }
}

async function readKept({ store }: RunnerParts, scriptId: string): Promise<JournalStory | string> {
  if (store === undefined) throw new ToolscriptUsageError('This needs a harness with a store.');
  const lines = await store.journal.read(scriptId);
  if (lines === undefined) return `There is no script "${scriptId}" in the store.`;
  try {
    return readStory(lines) ?? 'This script was kept by a version that is not known here.';
  } catch {
    return 'What is kept of this script is damaged.';
  }
}

interface Again {
  start: ScriptStart;
  earlier: EarlierLife;
  frame: ScriptFrame;
  kept: TakenOver;
  decisions: Decisions;
  memory?: Suspension['memory'];
}

async function goOn(parts: RunnerParts, host: RunHost, again: Again): Promise<RunEnd> {
  const { start, earlier, frame, kept, decisions, memory } = again;
  const { stream } = host;
  if (frame.item !== undefined) announceStatus(stream, frame.item.id, 'executing');
  const end = await runSession(parts, {
    ...host,
    ...runOf(start),
    cacheHit: earlier.spent?.cacheHit ?? false,
    journal: kept.journal ?? unwrittenJournal,
    earlier,
    decisions: new Map(Object.entries(decisions)),
    ...(memory === undefined ? {} : { memory }),
  });
  const reported = { source: start.script.source, tokenBudget: start.limits.modelOutputTokens };
  return endRun(parts, { end, frame, stream, kept, inAnswer: host.inAnswer, reported });
}

async function takeOverFor(
  parts: RunnerParts,
  script: { scriptId: string; epoch: number },
  frame: Pick<ScriptFrame, 'identity'>,
): Promise<TakenOver | RunEnd> {
  try {
    const taken = await takeOver(parts, script, frame);
    if (taken !== undefined) return taken;
    return refused(script.scriptId, 'Somebody has gone on with this script already; a suspension is resumed once.');
  } catch (error) {
    tellOperator(parts, script.scriptId, `the script could not be taken over: ${String(error)}`);
    return refused(script.scriptId, 'The store failed, so nothing was done; the script still waits. Try again later.');
  }
}

function runOf({ scriptId, script, limits, principal, toolNames, contextJson, seed, clockMs }: ScriptStart) {
  // A release that suspended it may not have known every limit.
  const known = { ...DEFAULT_LIMITS, ...limits };
  return { scriptId, script: restoreScript(script), limits: known, principal, toolNames, contextJson, seed, clockMs };
}

function refused(scriptId: string | undefined, message: string): RunEnd {
  const failure: ScriptFailure = scriptFailure('SuspensionError', message);
  return { outcome: failedOutcome(failure, scriptId), refused: true };
}
