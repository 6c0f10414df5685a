import type { createGate } from '../approvals/index.js';
import { outcomeToOutputItem } from '../history/index.js';
import {
  scriptFailure,
  type ApprovalPolicy,
  type CompiledScript,
  type Diagnostic,
  type HarnessMode,
  type JsonObject,
  type Limits,
  type Outcome,
  type PlannedCall,
  type SandboxRuntime,
  type ScriptExecutionItem,
  type ScriptFailure,
  type ScriptFormat,
  type ScriptLanguage,
} from '../protocol/index.js';
import type { Compiler } from '../script/index.js';
import { roundMs, runScriptSession, unwrittenJournal, type SessionEvent } from '../session/index.js';
import { sha256 } from '../text/sha256.js';
import { createFacade, type Facade, type ObservedShapes, type ToolCatalog, type ToolRegistry } from '../tools/index.js';
import { newId, type EventStream } from './event-stream.js';
import type { LazyChecker } from './lazy-checker.js';
import type { ContextWriter } from './script-context.js';
import { sessionPayload } from './session-payloads.js';

/** What every run of one harness shares. */
export interface RunnerParts {
  compiler: Compiler;
  /** Undefined: types are not checked. */
  checker: LazyChecker | undefined;
  runtime: SandboxRuntime;
  registry: ToolRegistry;
  exposed: ReadonlySet<string>;
  toolNames: readonly string[];
  spawn: boolean;
  catalog: ToolCatalog;
  /** What results of tools without an output schema looked like, over all runs. */
  observed: ObservedShapes;
  contexts: ContextWriter;
  makeGate: (approvals: ApprovalPolicy | undefined, limits: Limits) => ReturnType<typeof createGate>;
  onInternalError: ((detail: string, ids: { scriptId: string }) => void) | undefined;
  /** Scripts that have ended and left detached tasks running. */
  detached: Set<Facade>;
}

/** One script to run. */
export interface ScriptRequest {
  source: string;
  language: ScriptLanguage;
  format: ScriptFormat;
  mode: HarnessMode;
  limits: Limits;
  approvals: ApprovalPolicy | undefined;
  app: unknown;
  principal: string | undefined;
  context: JsonObject;
  signal: AbortSignal | undefined;
  stream: EventStream;
}

/** Compiles and runs one script, and tells its story as events. */
export async function runRequest(parts: RunnerParts, request: ScriptRequest): Promise<Outcome> {
  const scriptId = newId('scr');
  const startedAt = performance.now();
  // Threads of both kinds start side by side; afterwards this costs nothing.
  if (request.mode === 'enabled') parts.runtime.warm().catch(() => {});
  const compiled = await parts.compiler.compile(request.source, {
    language: request.language,
    maxSourceBytes: request.limits.maxSourceBytes,
    toolNames: parts.toolNames,
    ...(parts.checker === undefined ? {} : { typeChecker: parts.checker }),
  });
  const item = request.stream.isHeard ? executionItem(request, compiled.ok ? compiled.script : undefined) : undefined;
  if (item !== undefined) announce(request.stream, item);
  const plain = (end: PlainEnd) =>
    plainOutcome(scriptId, end, compiled, performance.now() - startedAt, parts.runtime.name);
  let outcome: Outcome;
  if (!compiled.ok) outcome = plain({ error: compiled.failure });
  else if (request.mode === 'dry-run') outcome = plain({});
  else outcome = await runCompiled(parts, request, scriptId, compiled.script, compiled.cacheHit);
  if (item !== undefined) announceOutcome(request.stream, item, outcome);
  return outcome;
}

/** A block that never becomes a script: its item, and an output that says why. */
export function reportUnrunnable(
  request: Pick<ScriptRequest, 'source' | 'language' | 'format' | 'stream'>,
  failure: ScriptFailure,
): Outcome {
  const outcome = plainOutcome(newId('scr'), { error: failure }, undefined, 0, 'none');
  const item = executionItem(request, undefined);
  announce(request.stream, item);
  announceOutcome(request.stream, item, outcome);
  return outcome;
}

/** A block that is not run: its item alone, pending for ever. */
export function reportSkipped(request: Pick<ScriptRequest, 'source' | 'language' | 'format' | 'stream'>): void {
  announce(request.stream, { ...executionItem(request, undefined), status: 'pending' });
}

export function disabledFailure(): ScriptFailure {
  return scriptFailure(
    'ScriptDisabledError',
    'Scripts are switched off here; nothing of this script ran. Use structured tool calls instead.',
  );
}

/** An outcome without a run. */
export function failedOutcome(error: ScriptFailure): Outcome {
  return plainOutcome(newId('scr'), { error }, undefined, 0, 'none');
}

/** Ends what scripts left running. */
export function abortDetached(parts: RunnerParts): void {
  for (const facade of parts.detached) {
    for (const { callId, status } of facade.operations())
      if (status === 'detached') facade.abort(callId, 'the harness was closed');
  }
  parts.detached.clear();
}

async function runCompiled(
  parts: RunnerParts,
  request: ScriptRequest,
  scriptId: string,
  script: CompiledScript,
  cacheHit: boolean,
): Promise<Outcome> {
  const facades: Facade[] = [];
  const outcome = await runSession(parts, request, scriptId, script, cacheHit, facades);
  if (parts.spawn) for (const facade of facades) keepWhileDetached(parts, facade);
  return outcome;
}

function keepWhileDetached(parts: RunnerParts, facade: Facade): void {
  if (facade.pending().executing > 0) parts.detached.add(facade);
}

function runSession(
  parts: RunnerParts,
  request: ScriptRequest,
  scriptId: string,
  script: CompiledScript,
  cacheHit: boolean,
  facades: Facade[],
): Promise<Outcome> {
  const { limits } = request;
  return runScriptSession({
    scriptId,
    script,
    cacheHit,
    runtime: parts.runtime,
    limits,
    makeFacade: (hooks) => {
      const facade: Facade = createFacade({
        registry: parts.registry,
        exposed: parts.exposed,
        observed: parts.observed,
        limits,
        gate: parts.makeGate(request.approvals, limits),
        app: request.app,
        principal: request.principal,
        scriptId,
        plan: script.plan,
        clock: hooks,
        startedAtMs: 0,
        tellsCalls: request.stream.isHeard || parts.spawn,
        onEvent: (event) => {
          hooks.onEvent(event);
          if (event.type === 'tool_call_done' && parts.detached.has(facade) && facade.pending().executing === 0)
            parts.detached.delete(facade);
        },
      });
      facades.push(facade);
      return facade;
    },
    catalog: parts.catalog,
    toolNames: parts.toolNames,
    spawn: parts.spawn,
    contextJson: parts.contexts.write({
      scriptId,
      identity: request.stream.identity,
      own: request.context,
      limits,
      mode: request.mode,
      approvalsRequired: request.approvals !== 'auto',
    }),
    principal: request.principal,
    seed: randomSeed(),
    journal: unwrittenJournal,
    signal: request.signal,
    onEvent: (event) => tell(parts, request.stream, scriptId, event),
  });
}

function tell(parts: RunnerParts, stream: EventStream, scriptId: string, event: SessionEvent): void {
  if (event.type === 'internal') {
    try {
      parts.onInternalError?.(event.detail, { scriptId });
    } catch {
      // The operator's listener failed; the run goes on.
    }
    return;
  }
  if (!stream.isHeard) return;
  const payload = sessionPayload(event, scriptId);
  if (payload !== undefined) stream.emit(payload);
}

/** Chance for `Math.random` in the guest, which promises no secrecy. */
function randomSeed(): [number, number, number, number] {
  const word = () => (Math.random() * 0x1_0000_0000) | 0;
  return [word(), word(), word(), word()];
}

function executionItem(
  request: Pick<ScriptRequest, 'language' | 'format' | 'source'>,
  script: CompiledScript | undefined,
): ScriptExecutionItem {
  return {
    type: 'script_execution',
    id: newId('item'),
    call_id: newId('call'),
    language: request.language,
    format: request.format,
    source_code: request.source,
    source_sha256: script?.sha256 ?? sha256(request.source),
    status: 'executing',
    ...(script === undefined ? {} : { plan: script.plan.map((call) => ({ ...call })) }),
  };
}

function announce(stream: EventStream, item: ScriptExecutionItem): void {
  stream.emit({ type: 'item_start', item_id: item.id, item_type: 'script_execution' });
  stream.emit({ type: 'item_done', item_id: item.id, final_item: item });
}

function announceOutcome(stream: EventStream, item: ScriptExecutionItem, outcome: Outcome): void {
  const id = newId('item');
  stream.emit({ type: 'item_start', item_id: id, item_type: 'script_execution_output' });
  stream.emit({
    type: 'item_done',
    item_id: id,
    final_item: outcomeToOutputItem(outcome, { id, callId: item.call_id }),
  });
}

interface PlainEnd {
  error?: ScriptFailure;
}

interface Prepared {
  cacheHit: boolean;
  diagnostics?: readonly Diagnostic[];
  script?: CompiledScript;
}

function plainOutcome(
  scriptId: string,
  end: PlainEnd,
  prepared: Prepared | undefined,
  durationMs: number,
  runtime: string,
): Outcome {
  const plan: readonly PlannedCall[] = prepared?.script?.plan ?? [];
  const common = {
    scriptId,
    output: '',
    logs: [],
    operations: [],
    diagnostics: [...(prepared?.script?.diagnostics ?? prepared?.diagnostics ?? [])],
    plan: [...plan],
    metadata: {
      durationMs: roundMs(durationMs),
      computeMs: 0,
      approvalWaitMs: 0,
      toolCallsMade: 0,
      memoryUsedMb: 0,
      cacheHit: prepared?.cacheHit ?? false,
      compilationCacheHit: false,
      runtime,
    },
  };
  return end.error === undefined
    ? { ...common, status: 'completed', value: undefined }
    : { ...common, status: 'failed', error: end.error };
}
