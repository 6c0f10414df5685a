import type { createGate, GateOptions } from '../approvals/index.js';
import type { ApprovalPolicy, CompiledScript, Decision, GateMemory, ImageSource, Limits } from '../protocol/index.js';
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
import type { LazyChecker } from './lazy-checker.js';
import type { ContextWriter } from './script-context.js';
import { reportInternalError, type DurabilityServices } from '../durability/services.js';
import { sessionPayload } from './session-payloads.js';
import { emitWorkPlan } from './work-plans.js';

/** The services that all runs of one harness share. */
export interface HarnessServices extends DurabilityServices {
  compiler: Compiler;
  /** Undefined: types are not checked. */
  checker: LazyChecker | undefined;
  registry: ToolRegistry;
  exposed: ReadonlySet<string>;
  toolNames: readonly string[];
  /** Undefined: `tools.spawn` does not exist. */
  tasks: DetachedTasks | undefined;
  catalog: ToolCatalog;
  /** The shapes of results of tools without an output schema, over all runs. */
  observed: ObservedShapes;
  contexts: ContextWriter;
  makeGate: (
    approvals: ApprovalPolicy | undefined,
    limits: Limits,
    more?: Omit<GateOptions, 'approvalTimeoutMs'>,
  ) => ReturnType<typeof createGate>;
  images: ImageSource;
  suspendAfterMs: number | undefined;
  audit: Audit | undefined;
  isClosing: () => boolean;
}

/** What one run is given by its host, new or taken up again. */
export interface RunHost {
  inAnswer: boolean;
  approvals: ApprovalPolicy | undefined;
  /** How long a suspended call can be decided about. Undefined: as long as it is kept. */
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
  /** What a person decided while the script was put aside, by approval. */
  decisions?: ReadonlyMap<string, Decision> | undefined;
  /** What a person said before that. */
  memory?: GateMemory | undefined;
}

/** Runs a compiled script to its end, or until it only waits for people. */
export function runSession(parts: HarnessServices, run: ScriptRun): Promise<SessionEnd> {
  // Member by member: spreading an object costs more than the rest of a short script's way through here.
  return runScriptSession({
    scriptId: run.scriptId,
    script: run.script,
    cacheHit: run.cacheHit,
    runtime: parts.runtime,
    limits: run.limits,
    makeFacade: (hooks) => makeFacade(parts, run, hooks),
    catalog: parts.catalog.forPrincipal(run.principal),
    toolNames: run.toolNames,
    tasks: parts.tasks?.of(run.principal),
    contextJson: run.contextJson,
    principal: run.principal,
    seed: run.seed,
    clockMs: run.clockMs,
    journal: run.journal,
    signal: run.signal,
    suspendAfterMs: parts.suspendAfterMs,
    earlier: run.earlier,
    images: parts.images,
    onEvent: (event) => tell(parts, run.sink, run.scriptId, event),
  });
}

function makeFacade(parts: HarnessServices, run: ScriptRun, hooks: SessionFacadeHooks) {
  const { limits, decisions, memory, sink, journal, approvalExpiryMs: expiresAfterMs } = run;
  const gate = parts.makeGate(run.approvals, limits, {
    parks: true,
    decisions,
    memory,
    expiresAfterMs,
    onDecided: journal.isStored ? (approvalId, decision) => journal.decided(approvalId, decision) : undefined,
  });
  const emitsCalls = sink.hasListeners || parts.tasks !== undefined || parts.audit !== undefined || journal.isStored;
  return createFacade({
    registry: parts.registry,
    exposed: parts.exposed,
    observed: parts.observed,
    limits,
    gate,
    app: run.app,
    principal: run.principal,
    scriptId: run.scriptId,
    plan: run.script.plan,
    clock: hooks,
    startedAtMs: 0,
    emitsCalls,
    earlier: hooks.earlier,
    onIntent: hooks.onIntent,
    onEvent: parts.audit === undefined ? hooks.onEvent : audited(parts.audit, run, hooks.onEvent),
  });
}

function audited(audit: Audit, { scriptId, principal }: ScriptRun, next: SessionFacadeHooks['onEvent']): typeof next {
  return (event) => {
    audit.note(event, { scriptId, principal });
    next(event);
  };
}

function tell(parts: HarnessServices, sink: PayloadSink, scriptId: string, event: SessionEvent): void {
  if (event.type === 'internal') return reportInternalError(parts, scriptId, event.detail);
  if (!sink.hasListeners) return;
  const payload = sessionPayload(event, scriptId);
  if (payload !== undefined) sink.emit(payload);
  if (event.type === 'tool_call_done') emitWorkPlan(sink, parts.registry, event.operation);
}
