import type { createGate, GateOptions } from '../approvals/index.js';
import type {
  ApprovalPolicy,
  CompiledScript,
  Decision,
  GateMemory,
  ImageSource,
  Limits,
  Tool,
} from '../protocol/index.js';
import type { Compiler } from '../script/index.js';
import {
  runScriptSession,
  type ResumeState,
  type ScriptJournal,
  type SessionEnd,
  type SessionEvent,
  type SessionFacadeHooks,
} from '../session/index.js';
import { createFacade, type ObservedShapes, type ToolCatalog, type ToolRegistry } from '../tools/index.js';
import type { Audit } from './audit.js';
import type { DetachedTasks } from './detached-tasks.js';
import type { PayloadSink } from '../answer/index.js';
import type { LazyCheckPool, LazyChecker } from './lazy-checker.js';
import type { ContextWriter } from './script-context.js';
import { reportInternalError, type DurabilityServices } from '../durability/services.js';
import { checkSavedScript } from './saved-scripts.js';
import { sessionPayload } from './session-payloads.js';
import { emitWorkPlan } from './work-plans.js';

/** The tools of a harness at one moment, and the data derived from them. Immutable: a change creates a new one. */
export interface ToolServices {
  readonly registry: ToolRegistry;
  readonly exposed: ReadonlySet<string>;
  /** The exposed tools. */
  readonly tools: readonly Tool[];
  readonly toolNames: readonly string[];
  /** Undefined: types are not checked. */
  readonly checker: LazyChecker | undefined;
  readonly catalog: ToolCatalog;
  readonly contexts: ContextWriter;
}

/**
 * The services that the runs of one harness share. A run keeps the object that it starts with, and thereby the tools
 * that its script was checked against.
 */
export interface HarnessServices extends DurabilityServices, ToolServices {
  compiler: Compiler;
  /** Undefined: types are not checked. */
  checkPool: LazyCheckPool | undefined;
  /** Undefined: `tools.spawn` does not exist. */
  tasks: DetachedTasks | undefined;
  /** Shapes of results of tools without an output schema, across all runs. */
  observed: ObservedShapes;
  makeGate: (
    approvals: ApprovalPolicy | undefined,
    limits: Limits,
    more?: Omit<GateOptions, 'approvalTimeoutMs'>,
  ) => ReturnType<typeof createGate>;
  images: ImageSource;
  suspendAfterMs: number | undefined;
  audit: Audit | undefined;
  /** Aborts when the harness is closed. */
  closed: AbortSignal;
}

/** The host's inputs for a new or resumed run. */
export interface RunHost {
  inAnswer: boolean;
  approvals: ApprovalPolicy | undefined;
  /** How long a suspended call can be decided. Undefined: as long as it is stored. */
  approvalExpiryMs: number | undefined;
  app: unknown;
  signal: AbortSignal | undefined;
  sink: PayloadSink;
}

export interface ScriptRun extends RunHost {
  scriptId: string;
  script: CompiledScript;
  cacheHit: boolean;
  limits: Limits;
  principal: string | undefined;
  toolNames: readonly string[];
  contextJson: string;
  seed: readonly [number, number, number, number];
  clockMs: number;
  journal: ScriptJournal;
  earlier?: ResumeState | undefined;
  /** The user's decisions while the script was suspended, by approval id. */
  decisions?: ReadonlyMap<string, Decision> | undefined;
  /** The user's earlier decisions. */
  memory?: GateMemory | undefined;
}

/** Runs a compiled script until it ends or waits only for decisions. */
export function runSession(services: HarnessServices, run: ScriptRun): Promise<SessionEnd> {
  // Lists each member: spreading an object costs more than the rest of a short script's path through this function.
  return runScriptSession({
    scriptId: run.scriptId,
    script: run.script,
    cacheHit: run.cacheHit,
    runtime: services.runtime,
    limits: run.limits,
    makeFacade: (hooks) => makeFacade(services, run, hooks),
    catalog: services.catalog.forPrincipal(run.principal),
    toolNames: run.toolNames,
    tasks: services.tasks?.of(run.principal),
    contextJson: run.contextJson,
    principal: run.principal,
    seed: run.seed,
    clockMs: run.clockMs,
    journal: run.journal,
    signal: run.signal,
    suspendAfterMs: services.suspendAfterMs,
    earlier: run.earlier,
    images: services.images,
    onEvent: (event) => emit(services, run.sink, run.scriptId, event),
  });
}

function makeFacade(services: HarnessServices, run: ScriptRun, hooks: SessionFacadeHooks) {
  const { limits, decisions, memory, sink, journal, approvalExpiryMs: expiresAfterMs } = run;
  const gate = services.makeGate(run.approvals, limits, {
    parks: true,
    decisions,
    memory,
    expiresAfterMs,
    onDecided: journal.isStored ? (approvalId, decision) => journal.decided(approvalId, decision) : undefined,
  });
  const emitsCalls =
    sink.hasListeners || services.tasks !== undefined || services.audit !== undefined || journal.isStored;
  return createFacade({
    registry: services.registry,
    exposed: services.exposed,
    observed: services.observed,
    limits,
    gate,
    app: run.app,
    principal: run.principal,
    scriptId: run.scriptId,
    identity: sink.identity,
    plan: run.script.plan,
    savedScripts: { linked: run.script.linked, check: (saved) => checkSavedScript(services, saved, limits) },
    clock: hooks,
    startedAtMs: 0,
    emitsCalls,
    earlier: hooks.earlier,
    onIntent: hooks.onIntent,
    takeCall: sink.takeCall,
    onEvent: services.audit === undefined ? hooks.onEvent : audited(services.audit, run, hooks.onEvent),
  });
}

function audited(
  audit: Audit,
  { scriptId, principal, sink }: ScriptRun,
  next: SessionFacadeHooks['onEvent'],
): typeof next {
  return (event) => {
    audit.note(event, { scriptId, principal, identity: sink.identity });
    next(event);
  };
}

function emit(services: HarnessServices, sink: PayloadSink, scriptId: string, event: SessionEvent): void {
  if (event.type === 'internal') return reportInternalError(services, scriptId, event.detail);
  if (!sink.hasListeners) return;
  const payload = sessionPayload(event, scriptId);
  if (payload !== undefined) sink.emit(payload);
  if (event.type === 'tool_call_done') emitWorkPlan(sink, services.registry, event.operation);
}
