import type { createGate, GateOptions } from '../approvals/index.js';
import type {
  ApprovalPolicy,
  CompiledScript,
  Decision,
  GateMemory,
  ImageSource,
  Limits,
  SandboxRuntime,
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
import type { LazyChecker } from './lazy-checker.js';
import type { ContextWriter } from './script-context.js';
import type { ProcessSuspensions } from './process-suspensions.js';
import { sessionPayload } from './session-payloads.js';
import type { Keeping } from './store-journal.js';
import { emitWorkPlan } from './work-plans.js';
import type { SuspensionSeal } from './suspension-envelope.js';

/** What every run of one harness shares. */
export interface RunnerParts {
  compiler: Compiler;
  /** Undefined: types are not checked. */
  checker: LazyChecker | undefined;
  runtime: SandboxRuntime;
  registry: ToolRegistry;
  exposed: ReadonlySet<string>;
  toolNames: readonly string[];
  /** Undefined: `tools.spawn` does not exist. */
  tasks: DetachedTasks | undefined;
  catalog: ToolCatalog;
  /** What results of tools without an output schema looked like, over all runs. */
  observed: ObservedShapes;
  contexts: ContextWriter;
  makeGate: (
    approvals: ApprovalPolicy | undefined,
    limits: Limits,
    more?: Omit<GateOptions, 'approvalTimeoutMs'>,
  ) => ReturnType<typeof createGate>;
  /** Undefined: scripts are kept by this process only. */
  keeping: Keeping | undefined;
  /** The suspended scripts of a harness without a store. */
  inProcess: ProcessSuspensions | undefined;
  images: ImageSource;
  /** Engines and images that are being kept at this moment, by name. */
  keepingImages: Map<string, Promise<void>>;
  seal: SuspensionSeal;
  suspendAfterMs: number | undefined;
  audit: Audit | undefined;
  isClosing: () => boolean;
  onInternalError: ((detail: string, ids: { scriptId: string }) => void) | undefined;
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
export function runSession(parts: RunnerParts, run: ScriptRun): Promise<SessionEnd> {
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

function makeFacade(parts: RunnerParts, run: ScriptRun, hooks: SessionFacadeHooks) {
  const { limits, decisions, memory, sink, journal, approvalExpiryMs: expiresAfterMs } = run;
  const gate = parts.makeGate(run.approvals, limits, {
    parks: true,
    decisions,
    memory,
    expiresAfterMs,
    onDecided: journal.isKept ? (approvalId, decision) => journal.decided(approvalId, decision) : undefined,
  });
  const tellsCalls = sink.hasListeners || parts.tasks !== undefined || parts.audit !== undefined || journal.isKept;
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
    tellsCalls,
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

function tell(parts: RunnerParts, sink: PayloadSink, scriptId: string, event: SessionEvent): void {
  if (event.type === 'internal') return tellOperator(parts, scriptId, event.detail);
  if (!sink.hasListeners) return;
  const payload = sessionPayload(event, scriptId);
  if (payload !== undefined) sink.emit(payload);
  if (event.type === 'tool_call_done') emitWorkPlan(sink, parts.registry, event.operation);
}

export function tellOperator(parts: RunnerParts, scriptId: string, detail: string): void {
  try {
    parts.onInternalError?.(detail, { scriptId });
  } catch {
    // The operator's listener failed; the run goes on.
  }
}
