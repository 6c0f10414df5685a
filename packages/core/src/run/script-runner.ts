import {
  RunInterruption,
  interruptedByStore,
  scriptFailure,
  type CompileResult,
  type CompiledScript,
  type HarnessMode,
  type Outcome,
  type ScriptFailure,
  type ScriptExecutionItem,
  type ScriptFormat,
  type ScriptItemMembers,
  type ScriptLanguage,
} from '../protocol/index.js';
import { noopJournal, plainOutcome, type SessionEnd, type SuspendedEnd } from '../calls/session/index.js';
import type { ScriptEnd } from '../answer/index.js';
import type { PayloadSink, RunContext } from '../protocol/run-context.js';
import { newId, sha256 } from '../text/crypto.js';
import type { ObservedTools } from '../script/check/index.js';
import { observedToolsType, toolParameters } from '../tools/index.js';
import { reportInternalError } from './durability/services.js';
import { present } from '../protocol/json.js';
import { storedOutcome } from './durability/journal-lines.js';
import { StoreJournal } from './durability/store-journal.js';
import { PendingSuspension, type ItemNames, type ScriptFrame, type ClaimedScript } from './durability/suspensions.js';
import { outcomeToOutputItem, renderOutcomeForModel } from '../history/index.js';
import { runSession, type HarnessServices } from './script-run.js';
import { repairedText } from '../script/index.js';
import type { PrintTypes, ProgramCell } from './programs/programs.js';
import { linkSavedScripts, runsSavedScripts } from './saved-scripts.js';

/** The end of a script. `refused`: the script was not resumed, and nothing happened. */
export interface ScriptRunEnd extends ScriptEnd {
  refused?: true | undefined;
}

/** Compiles and runs one script, and emits its events. */
export async function runText(services: HarnessServices, context: RunContext, text: ScriptText): Promise<ScriptRunEnd> {
  const scriptId = ownId(context);
  const startedAt = performance.now();
  // The worker threads of the runtime start while the compiler's worker thread starts. Later calls of `warm` cost
  // nothing.
  if (context.mode === 'enabled') services.runtime.warm().catch(() => {});
  const cell = services.isOneProgram && text.isSeparate !== true ? await openCell(services, context, text) : undefined;
  if (cell !== undefined && 'code' in cell) return { outcome: reportUnrunnable(context, text, cell) };
  const compiled = await compile(services, context, text, cell);
  const item = context.sink.hasListeners
    ? announce(context.sink, executionItem(text, compiled.script, scriptId), text.item)
    : undefined;
  if (compiled.ok && context.mode !== 'dry-run')
    return runCompiledScript(services, context, {
      text,
      scriptId,
      script: compiled.script,
      cacheHit: compiled.cacheHit,
      item,
      cell,
    });
  const end = compiled.ok ? {} : { error: compiled.failure };
  const plain = plainOutcome(scriptId, end, compiled, performance.now() - startedAt, services.runtime.name);
  const outcome = cell?.start.heapId === undefined ? plain : { ...plain, heap: cell.start.heapId };
  if (item !== undefined) announceOutcome(context, item, outcome, text.source);
  return { outcome };
}

function ownId({ live }: RunContext): string {
  return live?.scriptId ?? newId('scr');
}

/** Compiles a script. If the harness is closed during the compilation, cancels the started item and rejects. */
async function compile(
  services: HarnessServices,
  context: RunContext,
  text: ScriptText,
  cell: ProgramCell | undefined,
): Promise<CompileResult> {
  const { app, principal, identity, limits, sink } = context;
  try {
    const compiled = await services.compiler.compile(text.source, {
      language: text.language,
      maxSourceBytes: limits.maxSourceBytes,
      toolNames: services.toolNames,
      kept: cell?.kept,
      findParameters: (tool) => toolParameters(services.registry.get(tool)),
      typeChecker: services.checker?.observing(observedTools(services, text.source, principal)),
      principal,
      queueWaitMs: limits.queueWaitMs,
    });
    if (!compiled.ok || !runsSavedScripts(services, compiled.script)) return compiled;
    return await linkSavedScripts(services, compiled.script, { app, principal, threadId: identity.threadId }, limits);
  } catch (error) {
    cancelStarted(sink, text.item, 'The harness was closed before the script started.');
    throw error;
  }
}

/** The tools that a script may name, and whose results are observed; undefined if there are none. */
function observedTools(
  { namedTools, observed }: HarnessServices,
  source: string,
  principal: string | undefined,
): ObservedTools | undefined {
  if (observed === undefined) return undefined;
  const named = namedTools.in(source);
  if (named.length === 0) return undefined;
  const results = new Map(
    named.flatMap((tool): [string, string][] => {
      const type = observed.resultType(tool, principal);
      return type === undefined ? [] : [[tool.name, type]];
    }),
  );
  const type = observedToolsType(named, ({ name }) => results.get(name));
  return type === undefined ? undefined : { type, results };
}

interface CompiledText {
  text: ScriptText;
  scriptId: string;
  script: CompiledScript;
  cacheHit: boolean;
  item: ItemNames | undefined;
  /** The id of the structured call that the script makes. */
  callId?: string | undefined;
  cell?: ProgramCell | undefined;
}

/** Runs a compiled script. */
export async function runCompiledScript(
  services: HarnessServices,
  context: RunContext,
  { text, scriptId, script, cacheHit, item, callId, cell }: CompiledText,
): Promise<ScriptRunEnd> {
  const { keeping, toolNames } = services;
  const journal = keeping && new StoreJournal(keeping, context, { scriptId, epoch: 0, callId });
  const end = await runSession(services, context, {
    scriptId,
    compiled: script,
    cacheHit,
    toolNames,
    contextJson: services.contexts.write(scriptId, context),
    seed: randomSeed(),
    clockMs: Date.now(),
    journal: journal ?? noopJournal,
    cell,
  });
  const { language, format, source } = text;
  const frame = { identity: context.identity, language, format, item, callId };
  const ended = cell === undefined ? end : await closeCell(services, context, { cell, script, end });
  return endRun(services, context, { end: ended, frame, kept: { journal, epoch: 0 }, source });
}

/** Opens the heap in which a script starts, or returns the reason why the script cannot run. */
function openCell(
  { programs }: HarnessServices,
  { principal }: RunContext,
  { heap, threadId }: ScriptText,
): Promise<ProgramCell | ScriptFailure> {
  return programs.open({ principal, heapId: heap, threadId });
}

/** Keeps the variables of a script that has ended. A suspended script keeps them when it ends. */
export async function closeCell(
  { programs, checker }: HarnessServices,
  { principal, limits }: RunContext,
  { cell, script, end }: { cell: ProgramCell; script: CompiledScript; end: SessionEnd },
): Promise<SessionEnd> {
  if (end.status === 'suspended') return { ...end, heap: cell.start.heapId };
  const turn = { principal, waitMs: limits.queueWaitMs };
  const text = repairedText(script.stored());
  const print: PrintTypes = async (declared, value) =>
    checker === undefined ? [] : checker.printTypes(text, declared, turn, { kept: cell.kept, value });
  return programs.close(cell, end, { script, principal, print });
}

/** The end of a script's session, and what its events and its suspension need. */
interface EndedScript {
  end: SessionEnd;
  frame: ScriptFrame;
  kept: ClaimedScript;
  source: string;
}

/** Emits and stores the result of a run. */
export async function endRun(
  services: HarnessServices,
  context: RunContext,
  { end, frame, kept, source }: EndedScript,
): Promise<ScriptRunEnd> {
  if (end.status !== 'suspended') {
    if (kept.journal !== undefined) await noteEnd(services, kept.journal, end, context.signal, frame);
    if (frame.item !== undefined) announceOutcome(context, frame.item, end, source);
    return { outcome: end };
  }
  const pending = new PendingSuspension(services, end, frame, kept);
  const nextSeq = context.sink.nextSeq + (frame.item === undefined ? 0 : 1);
  let outcome: Outcome;
  try {
    outcome = pending.outcome(context.isInAnswer ? '' : await pending.seal(nextSeq, undefined));
  } catch (error) {
    outcome = unsuspendedOutcome(services, end, error, kept.journal);
    if (kept.journal !== undefined) await noteEnd(services, kept.journal, outcome, context.signal, frame);
  }
  if (frame.item !== undefined) announceOutcome(context, frame.item, outcome, source);
  return outcome.status === 'suspended' ? { outcome, pending } : { outcome };
}

/**
 * Returns the failure of a script that waits for decisions but cannot be suspended. With a store, the script is
 * interrupted and can be recovered.
 */
function unsuspendedOutcome(
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
      : interruptedByStore(`${problem} The script can continue when the store accepts writes again.`);
  const operations = end.operations.map((operation) =>
    operation.status === 'awaiting_approval' ? { ...operation, status: 'not_started' as const } : operation,
  );
  return { ...rest, operations, status: 'failed', error: failure };
}

async function noteEnd(
  services: HarnessServices,
  journal: StoreJournal,
  outcome: Outcome,
  signal: AbortSignal | undefined,
  { callId }: Pick<ScriptFrame, 'callId'>,
): Promise<void> {
  if (outcome.status !== 'completed' && outcome.status !== 'failed') return;
  const { status, scriptId } = outcome;
  const why = outcome.status === 'failed' ? { code: outcome.error.code, message: outcome.error.message } : {};
  try {
    if (journal.hasFailed || isInterrupted(services, outcome, signal)) await journal.interrupt();
    else
      await journal.ended({ atMs: Date.now(), status, ...why }, () =>
        // The result of a structured call is stored with its operation.
        callId === undefined ? storedOutcome(outcome) : undefined,
      );
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
export function reportUnrunnable(context: RunContext, text: ScriptText, failure: ScriptFailure): Outcome {
  const outcome = plainOutcome(ownId(context), { error: failure }, undefined, 0, 'none');
  const item = announce(context.sink, executionItem(text, undefined), text.item);
  announceOutcome(context, item, outcome, text.source);
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
  /** The heap in which the script starts. Default: the script starts a new program. */
  heap?: string | undefined;
  /** The conversation whose newest heap the script replaces, if the host named one. */
  threadId?: string | undefined;
  /** Whether the script shares nothing with others, in a harness whose scripts can. */
  isSeparate?: boolean | undefined;
  /** Members that the host adds to the item. */
  item?: ScriptItemMembers | undefined;
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
    script_id: scriptId,
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
  { sink, limits, mode }: RunContext,
  { id: itemId, callId, reported }: ItemNames,
  outcome: Outcome,
  source: string,
): void {
  if (outcome.status === 'suspended') return announceStatus(sink, itemId, 'suspended');
  if (outcome.status === 'running') return;
  const id = newId('item');
  sink.emit({ type: 'item_start', item_id: id, item_type: 'script_execution_output' });
  const from = { source, tokenBudget: limits.modelOutputTokens, mode };
  const report = reported === true ? { report: renderOutcomeForModel(outcome, from) } : {};
  const final = { ...outcomeToOutputItem(outcome, { id, callId }), ...report };
  sink.emit({ type: 'item_done', item_id: id, final_item: final });
}

export function announceStatus(sink: PayloadSink, itemId: string, status: 'suspended' | 'executing'): void {
  sink.emit({ type: 'item_update', item_id: itemId, changes: { status } });
}
