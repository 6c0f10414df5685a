import {
  scriptFailure,
  type ApprovalPolicy,
  type CompileResult,
  type CompiledScript,
  type HarnessMode,
  type JsonObject,
  type Limits,
  type Outcome,
  type RunIdentity,
  type ScriptFailure,
} from '../protocol/index.js';
import { noopJournal, plainOutcome, type SessionEnd, type SuspendedEnd } from '../session/index.js';
import type { PayloadSink, ScriptEnd } from '../answer/index.js';
import { newId } from '../text/new-id.js';
import {
  announce,
  announceOutcome,
  cancelStarted,
  executionItem,
  type ReportSource,
  type ScriptText,
} from './script-items.js';
import { runSession, type HarnessServices } from './script-run.js';
import { reportInternalError } from '../durability/services.js';
import { StoreJournal } from '../durability/store-journal.js';
import { PendingSuspension, type ItemNames, type ScriptFrame, type ClaimedScript } from '../durability/suspensions.js';

/** One script to run. */
export interface ScriptRequest extends ScriptText {
  mode: HarnessMode;
  limits: Limits;
  approvals: ApprovalPolicy | undefined;
  approvalExpiryMs: number | undefined;
  app: unknown;
  principal: string | undefined;
  context: JsonObject;
  signal: AbortSignal | undefined;
  identity: RunIdentity;
  sink: PayloadSink;
  /** It stands in an answer that goes on behind it. */
  inAnswer: boolean;
  /** The script makes this structured call. */
  callId?: string;
}

/** How a script ended. `refused`: it was not resumed, and nothing happened. */
export interface RunEnd extends ScriptEnd {
  refused?: true;
}

/** Compiles and runs one script, and tells its story as events. */
export async function runRequest(parts: HarnessServices, request: ScriptRequest): Promise<RunEnd> {
  const scriptId = newId('scr');
  const startedAt = performance.now();
  // Threads of both kinds start side by side; afterwards this costs nothing.
  if (request.mode === 'enabled') parts.runtime.warm().catch(() => {});
  const compiled = await compile(parts, request);
  const item = request.sink.hasListeners
    ? announce(request.sink, executionItem(request, compiled.ok ? compiled.script : undefined), request.item)
    : undefined;
  if (compiled.ok && request.mode !== 'dry-run')
    return runPrepared(parts, request, { scriptId, script: compiled.script, cacheHit: compiled.cacheHit, item });
  const end = compiled.ok ? {} : { error: compiled.failure };
  const outcome = plainOutcome(scriptId, end, compiled, performance.now() - startedAt, parts.runtime.name);
  if (item !== undefined) announceOutcome(request.sink, item, outcome, reportSource(request));
  return { outcome };
}

/** Rejects where the harness was closed meanwhile. */
async function compile(parts: HarnessServices, request: ScriptRequest): Promise<CompileResult> {
  try {
    return await parts.compiler.compile(request.source, {
      language: request.language,
      maxSourceBytes: request.limits.maxSourceBytes,
      toolNames: parts.toolNames,
      ...(parts.checker === undefined ? {} : { typeChecker: parts.checker }),
    });
  } catch (error) {
    cancelStarted(request.sink, request.item, 'The harness was closed before it.');
    throw error;
  }
}

function reportSource({ source, limits, mode }: Pick<ScriptRequest, 'source' | 'limits' | 'mode'>): ReportSource {
  return { source, tokenBudget: limits.modelOutputTokens, mode };
}

interface Prepared {
  scriptId: string;
  script: CompiledScript;
  cacheHit: boolean;
  item: ItemNames | undefined;
}

/** Runs a script that is compiled. */
export async function runPrepared(
  parts: HarnessServices,
  request: ScriptRequest,
  { scriptId, script, cacheHit, item }: Prepared,
): Promise<RunEnd> {
  const { limits, principal, sink, identity, approvals, approvalExpiryMs, app, signal, callId } = request;
  const journal =
    parts.keeping === undefined
      ? undefined
      : new StoreJournal(parts.keeping, scriptId, 0, { identity, principal, callId });
  const end = await runSession(parts, {
    approvals,
    approvalExpiryMs,
    app,
    signal,
    sink,
    inAnswer: request.inAnswer,
    scriptId,
    script,
    cacheHit,
    limits,
    toolNames: parts.toolNames,
    contextJson: parts.contexts.write({
      scriptId,
      identity,
      own: request.context,
      limits,
      mode: request.mode,
      approvalsRequired: approvals !== 'auto',
    }),
    principal,
    seed: randomSeed(),
    clockMs: Date.now(),
    journal: journal ?? noopJournal,
  });
  const { language, format } = request;
  const frame = callId === undefined ? { identity, language, format, item } : { identity, language, format, item, callId };
  return endRun(parts, {
    end,
    frame,
    sink,
    kept: { journal, epoch: 0 },
    inAnswer: request.inAnswer,
    reported: reportSource(request),
  });
}

/** Tells and keeps what a run came to. */
export async function endRun(
  parts: HarnessServices,
  run: {
    end: SessionEnd;
    frame: ScriptFrame;
    sink: PayloadSink;
    kept: ClaimedScript;
    /** The rest of the answer is not known yet: whoever reads it puts the script aside, with it. */
    inAnswer: boolean;
    reported: ReportSource;
  },
): Promise<RunEnd> {
  const { end, frame, sink, kept, inAnswer, reported } = run;
  if (end.status !== 'suspended') {
    await noteEnd(parts, kept.journal, end);
    if (frame.item !== undefined) announceOutcome(sink, frame.item, end, reported);
    return { outcome: end };
  }
  const pending = new PendingSuspension(parts, end, frame, kept);
  const nextSeq = sink.nextSeq + (frame.item === undefined ? 0 : 1);
  let outcome: Outcome;
  try {
    outcome = pending.outcome(inAnswer ? '' : await pending.seal(nextSeq, undefined));
  } catch (error) {
    outcome = notKept(parts, end, error, kept.journal);
    await noteEnd(parts, kept.journal, outcome);
  }
  if (frame.item !== undefined) announceOutcome(sink, frame.item, outcome, reported);
  return outcome.status === 'suspended' ? { outcome, pending } : { outcome };
}

/** The script waits for people and cannot be kept. With a store it is cut off here, and can be recovered. */
function notKept(
  parts: HarnessServices,
  end: SuspendedEnd,
  error: unknown,
  journal: StoreJournal | undefined,
): Outcome {
  reportInternalError(parts, end.scriptId, `the script could not be put aside: ${String(error)}`);
  const { suspended: _suspended, pendingApprovals: _pendingApprovals, ...rest } = end;
  const failure = scriptFailure(
    journal === undefined ? 'SuspensionError' : 'StoreError',
    'The script waits for a decision, and it could not be put aside.',
  );
  const operations = end.operations.map((operation) =>
    operation.status === 'awaiting_approval' ? { ...operation, status: 'not_started' as const } : operation,
  );
  return { ...rest, operations, status: 'failed', error: failure };
}

async function noteEnd(parts: HarnessServices, journal: StoreJournal | undefined, outcome: Outcome): Promise<void> {
  if (journal === undefined || outcome.status === 'suspended') return;
  const { status, scriptId } = outcome;
  const why = outcome.status === 'failed' ? { code: outcome.error.code, message: outcome.error.message } : {};
  try {
    if (isCutOff(parts, outcome)) await journal.letGo();
    else await journal.ended({ atMs: Date.now(), status, ...why });
  } catch (error) {
    // What happened has happened; that it is not written down is for the operator.
    reportInternalError(parts, scriptId, `the journal could not be closed: ${String(error)}`);
  }
}

/** Somebody may go on with it: the store failed, or whoever closes the harness gives up a process, not its scripts. */
function isCutOff(parts: HarnessServices, outcome: Outcome): boolean {
  if (outcome.status !== 'failed') return false;
  const { code } = outcome.error;
  return code === 'StoreError' || (parts.isClosing() && code === 'ScriptCancelledError');
}

/** A block that never becomes a script: its item, and an output that says why. */
export function reportUnrunnable(
  request: ScriptText & { sink: PayloadSink; limits: Limits },
  failure: ScriptFailure,
): Outcome {
  const { source, sink, limits } = request;
  const outcome = plainOutcome(newId('scr'), { error: failure }, undefined, 0, 'none');
  const item = announce(sink, executionItem(request, undefined), request.item);
  announceOutcome(sink, item, outcome, { source, tokenBudget: limits.modelOutputTokens });
  return outcome;
}

export function disabledFailure(): ScriptFailure {
  return scriptFailure(
    'ScriptDisabledError',
    'Scripts are switched off here; nothing of this script ran. Use structured tool calls instead.',
  );
}

export function cannotResume(mode: HarnessMode): ScriptFailure {
  return scriptFailure(
    'ScriptDisabledError',
    `Nothing runs in a harness with mode "${mode}". The script stays suspended; resume it in one with mode "enabled".`,
  );
}

/** Chance for `Math.random` in the guest, which promises no secrecy. */
function randomSeed(): [number, number, number, number] {
  const word = () => (Math.random() * 0x1_0000_0000) | 0;
  return [word(), word(), word(), word()];
}
