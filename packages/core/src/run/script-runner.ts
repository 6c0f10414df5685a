import {
  RunInterruption,
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
  type ScriptExecutionItem,
  type ScriptFormat,
  type ScriptItemMembers,
  type ScriptLanguage,
} from '../protocol/index.js';
import { noopJournal, plainOutcome, type SessionEnd, type SuspendedEnd } from '../session/index.js';
import type { PayloadSink, ScriptEnd } from '../answer/index.js';
import { newId, sha256 } from '../text/crypto.js';
import { reportInternalError } from '../durability/services.js';
import { StoreJournal } from '../durability/store-journal.js';
import { PendingSuspension, type ItemNames, type ScriptFrame, type ClaimedScript } from '../durability/suspensions.js';
import { outcomeToOutputItem, renderOutcomeForModel } from '../history/index.js';
import { present } from '../protocol/json.js';
import { runSession, type HarnessServices } from './script-run.js';
import { linkSavedScripts, runsSavedScripts } from './saved-scripts.js';

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
  /** True: the script is part of an answer that continues after the script. */
  inAnswer: boolean;
  /** The id of the structured call that the script makes. */
  callId?: string;
}

/** The end of a script. `refused`: the script was not resumed, and nothing happened. */
export interface RunEnd extends ScriptEnd {
  refused?: true;
}

/** Compiles and runs one script, and emits its events. */
export async function runRequest(services: HarnessServices, request: ScriptRequest): Promise<RunEnd> {
  const scriptId = newId('scr');
  const startedAt = performance.now();
  // The worker threads of the runtime start while the compiler's worker thread starts. Later calls of `warm` cost
  // nothing.
  if (request.mode === 'enabled') services.runtime.warm().catch(() => {});
  const compiled = await compile(services, request);
  const item = request.sink.hasListeners
    ? announce(request.sink, executionItem(request, compiled.ok ? compiled.script : undefined, scriptId), request.item)
    : undefined;
  if (compiled.ok && request.mode !== 'dry-run')
    return runPrepared(services, request, { scriptId, script: compiled.script, cacheHit: compiled.cacheHit, item });
  const end = compiled.ok ? {} : { error: compiled.failure };
  const outcome = plainOutcome(scriptId, end, compiled, performance.now() - startedAt, services.runtime.name);
  if (item !== undefined) announceOutcome(request.sink, item, outcome, reportSource(request));
  return { outcome };
}

/** Compiles a script. If the harness is closed during the compilation, cancels the started item and rejects. */
async function compile(services: HarnessServices, request: ScriptRequest): Promise<CompileResult> {
  try {
    const compiled = await services.compiler.compile(request.source, {
      language: request.language,
      maxSourceBytes: request.limits.maxSourceBytes,
      toolNames: services.toolNames,
      ...(services.checker === undefined ? {} : { typeChecker: services.checker }),
    });
    if (!compiled.ok || !runsSavedScripts(services, compiled.script)) return compiled;
    const { app, principal, identity, limits } = request;
    return await linkSavedScripts(services, compiled.script, { app, principal, threadId: identity.threadId }, limits);
  } catch (error) {
    cancelStarted(request.sink, request.item, 'The harness was closed before the script started.');
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

/** Runs a compiled script. */
export async function runPrepared(
  services: HarnessServices,
  request: ScriptRequest,
  { scriptId, script, cacheHit, item }: Prepared,
): Promise<RunEnd> {
  const { limits, principal, sink, identity, approvals, approvalExpiryMs, app, signal, callId } = request;
  const journal =
    services.keeping === undefined
      ? undefined
      : new StoreJournal(services.keeping, scriptId, 0, { identity, principal, callId, flushEvents: sink.flush });
  const end = await runSession(services, {
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
    toolNames: services.toolNames,
    contextJson: services.contexts.write({
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
  const frame =
    callId === undefined ? { identity, language, format, item } : { identity, language, format, item, callId };
  return endRun(services, {
    end,
    frame,
    sink,
    signal,
    kept: { journal, epoch: 0 },
    inAnswer: request.inAnswer,
    reported: reportSource(request),
  });
}

/** Emits and stores the result of a run. */
export async function endRun(
  services: HarnessServices,
  run: {
    end: SessionEnd;
    frame: ScriptFrame;
    sink: PayloadSink;
    signal: AbortSignal | undefined;
    kept: ClaimedScript;
    /**
     * True: the rest of the answer is not known yet, so the reader of the answer stores the suspension together with
     * the rest.
     */
    inAnswer: boolean;
    reported: ReportSource;
  },
): Promise<RunEnd> {
  const { end, frame, sink, signal, kept, inAnswer, reported } = run;
  if (end.status !== 'suspended') {
    await noteEnd(services, kept.journal, end, signal);
    if (frame.item !== undefined) announceOutcome(sink, frame.item, end, reported);
    return { outcome: end };
  }
  const pending = new PendingSuspension(services, end, frame, kept);
  const nextSeq = sink.nextSeq + (frame.item === undefined ? 0 : 1);
  let outcome: Outcome;
  try {
    outcome = pending.outcome(inAnswer ? '' : await pending.seal(nextSeq, undefined));
  } catch (error) {
    outcome = notKept(services, end, error, kept.journal);
    await noteEnd(services, kept.journal, outcome, signal);
  }
  if (frame.item !== undefined) announceOutcome(sink, frame.item, outcome, reported);
  return outcome.status === 'suspended' ? { outcome, pending } : { outcome };
}

/**
 * Returns the failure of a script that waits for decisions but cannot be suspended. With a store, the script is
 * interrupted and can be recovered.
 */
function notKept(
  services: HarnessServices,
  end: SuspendedEnd,
  error: unknown,
  journal: StoreJournal | undefined,
): Outcome {
  if (!(error instanceof RunInterruption))
    reportInternalError(
      services,
      end.scriptId,
      `The script could not be suspended: ${String(error)}. Check the store of scripts.`,
    );
  const { suspended: _suspended, pendingApprovals: _pendingApprovals, ...rest } = end;
  const problem = 'An approval of the script is pending, but Toolscript could not suspend the script.';
  const failure =
    journal === undefined
      ? scriptFailure('SuspensionError', `${problem} Check what the script did before you run it again.`)
      : scriptFailure('StoreError', `${problem} Check the store, then call harness.recover(scriptId).`);
  const operations = end.operations.map((operation) =>
    operation.status === 'awaiting_approval' ? { ...operation, status: 'not_started' as const } : operation,
  );
  return { ...rest, operations, status: 'failed', error: failure };
}

async function noteEnd(
  services: HarnessServices,
  journal: StoreJournal | undefined,
  outcome: Outcome,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (journal === undefined || outcome.status === 'suspended') return;
  const { status, scriptId } = outcome;
  const why = outcome.status === 'failed' ? { code: outcome.error.code, message: outcome.error.message } : {};
  try {
    if (isInterrupted(services, outcome, signal)) await journal.interrupt();
    else await journal.ended({ atMs: Date.now(), status, ...why });
  } catch (error) {
    // The script has already run, so only the operator gets the report that its end was not stored.
    reportInternalError(
      services,
      scriptId,
      `The end of the script could not be stored: ${String(error)}. Check the store of scripts.`,
    );
  }
}

/**
 * Whether the script can be recovered: the store failed, or the harness was closed or the run was interrupted while the
 * script ran.
 */
function isInterrupted(services: HarnessServices, outcome: Outcome, signal: AbortSignal | undefined): boolean {
  if (outcome.status !== 'failed') return false;
  if (signal?.reason instanceof RunInterruption) return true;
  const { code } = outcome.error;
  return code === 'StoreError' || (services.closed.aborted && code === 'ScriptCancelledError');
}

/** Emits the item of a block that cannot run, and an output with the reason. */
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
    'Scripts are disabled here, so this script did not run. Use structured tool calls instead.',
  );
}

export function cannotResume(mode: HarnessMode): ScriptFailure {
  return scriptFailure(
    'ScriptDisabledError',
    `A harness with mode "${mode}" resumes no scripts. The stored script is unchanged: resume it in a harness with mode "enabled".`,
  );
}

/** Returns the seed of `Math.random` in the guest, which is not cryptographic. */
function randomSeed(): [number, number, number, number] {
  const word = () => (Math.random() * 0x1_0000_0000) | 0;
  return [word(), word(), word(), word()];
}

/** A script as its item shows it. */
export interface ScriptText {
  source: string;
  language: ScriptLanguage;
  format: ScriptFormat;
  /** Members that the host adds to the item. */
  item?: ScriptItemMembers | undefined;
}

/** The inputs of a report besides the outcome. */
export interface ReportSource {
  source: string;
  tokenBudget: number;
  mode?: HarnessMode;
}

export function executionItem(
  text: ScriptText,
  script: CompiledScript | undefined,
  scriptId?: string,
): ScriptExecutionItem {
  const { stage: _stage, ...members } = text.item ?? {};
  return {
    type: 'script_execution',
    id: newId('item'),
    call_id: newId('call'),
    language: text.language,
    format: text.format,
    source_code: text.source,
    source_sha256: script?.sha256 ?? sha256(text.source),
    ...members,
    status: 'executing',
    ...(scriptId === undefined ? {} : { script_id: scriptId }),
    ...(script === undefined ? {} : { plan: script.plan.map((call) => ({ ...call })) }),
  };
}

/** Emits the whole item at once, or the part that the host has not emitted. */
export function announce(sink: PayloadSink, item: ScriptExecutionItem, members?: ScriptItemMembers): ItemNames {
  const { id, status, plan, script_id, source_sha256, call_id: callId } = item;
  const stage = members?.stage;
  if (stage === undefined) sink.emit({ type: 'item_start', item_id: id, item_type: 'script_execution' });
  if (stage === 'pending')
    sink.emit({
      type: 'item_update',
      item_id: id,
      changes: { ...present({ status, plan, script_id }), source_sha256 },
    });
  else sink.emit({ type: 'item_done', item_id: id, final_item: item });
  return { id, callId, ...(members === undefined ? {} : { reported: true }) };
}

/** Cancels an item that the host has started, because no script follows. */
function cancelStarted(sink: PayloadSink, members: ScriptItemMembers | undefined, reason: string): void {
  if (members?.stage === 'started' && members.id !== undefined)
    sink.emit({ type: 'item_cancelled', item_id: members.id, reason });
}

/** Emits a script's output. A suspended script has no output yet, so only its item gets the status `suspended`. */
export function announceOutcome(
  sink: PayloadSink,
  { id: itemId, callId, reported }: ItemNames,
  outcome: Outcome,
  from: ReportSource,
): void {
  if (outcome.status === 'suspended') return announceStatus(sink, itemId, 'suspended');
  const id = newId('item');
  sink.emit({ type: 'item_start', item_id: id, item_type: 'script_execution_output' });
  const report = reported === true ? { report: renderOutcomeForModel(outcome, from) } : {};
  const final = { ...outcomeToOutputItem(outcome, { id, callId }), ...report };
  sink.emit({ type: 'item_done', item_id: id, final_item: final });
}

export function announceStatus(sink: PayloadSink, itemId: string, status: 'suspended' | 'executing'): void {
  sink.emit({ type: 'item_update', item_id: itemId, changes: { status } });
}
