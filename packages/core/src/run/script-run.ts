import type { createGate, GateOptions } from '../approvals/index.js';
import {
  PlanItemSchema,
  type ApprovalPolicy,
  type CompiledScript,
  type Decision,
  type GateMemory,
  type ImageSource,
  type Limits,
  type Tool,
  type ApprovalRequest,
  type EventPayload,
  type Operation,
  type PlanItem,
  type HarnessMode,
  type JsonObject,
  type RunIdentity,
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
import type { PayloadSink } from '../answer/index.js';
import { reportInternalError, type DurabilityServices } from '../durability/services.js';
import { operationToItem } from '../history/index.js';
import { newId } from '../text/crypto.js';
import type { Audit } from './audit.js';
import type { DetachedTasks } from './detached-tasks.js';
import type { LazyCheckPool, LazyChecker } from './lazy-checker.js';
import { checkSavedScript } from './saved-scripts.js';

/**
 * The tools of a harness at one moment, and the data derived from them. The object is immutable: a change of the tools
 * creates a new object.
 */
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
  /** Shapes of the results of tools without an output schema, across all runs. */
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
  /** The time in ms within which users can decide about a suspended call. Undefined: as long as the call is stored. */
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
  /** The decisions that users made while the script was suspended, by approval id. */
  decisions?: ReadonlyMap<string, Decision> | undefined;
  /** The decisions of users that apply to several calls. */
  memory?: GateMemory | undefined;
}

/** Runs a compiled script until it ends or waits only for decisions. */
export function runSession(services: HarnessServices, run: ScriptRun): Promise<SessionEnd> {
  // This call lists each member: spreading an object costs more than the rest of a short script's path through this
  // function.
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

/** Converts a session's event to a stream payload. Returns undefined for an event that the stream does not contain. */
export function sessionPayload(event: SessionEvent, scriptId: string | undefined): EventPayload | undefined {
  const script = scriptId === undefined ? {} : { script_id: scriptId };
  switch (event.type) {
    case 'tool_call_start':
      return {
        type: 'tool_call_start',
        call_id: event.callId,
        ...script,
        tool: event.tool,
        input: event.input,
        effect: event.effect,
        ...(event.line === undefined ? {} : { line: event.line }),
      };
    case 'tool_call_done':
      return {
        type: 'tool_call_done',
        call_id: event.operation.callId,
        ...script,
        operation: operationToItem(event.operation),
      };
    case 'approval_requested':
      return { type: 'approval_requested', approval: approvalToEvent(event.request) };
    case 'approval_resolved':
      return {
        type: 'approval_resolved',
        approval_id: event.approvalId,
        call_id: event.callId,
        ...script,
        decision: event.decision,
        by: event.by,
        ...(event.note === undefined ? {} : { note: event.note }),
        ...(event.remember === undefined ? {} : { remember: event.remember }),
        ...(event.replacedInputJson === undefined ? {} : { edited_input_json: event.inputJson }),
      };
    case 'progress':
      if (scriptId === undefined) return undefined;
      return {
        type: 'script_progress',
        script_id: scriptId,
        message: event.message,
        kind: event.kind,
        ...(event.callId === undefined ? {} : { call_id: event.callId }),
      };
    case 'log':
      if (scriptId === undefined) return undefined;
      return {
        type: 'script_log',
        script_id: scriptId,
        level: event.entry.level,
        text: event.entry.text,
        at_ms: event.entry.atMs,
      };
    case 'internal':
      return undefined;
  }
}

function approvalToEvent(request: ApprovalRequest) {
  return {
    approval_id: request.approvalId,
    call_id: request.callId,
    ...(request.scriptId === undefined ? {} : { script_id: request.scriptId }),
    tool: request.tool,
    input: request.input,
    input_json: request.inputJson,
    effect: request.effect,
    ...(request.line === undefined ? {} : { line: request.line }),
    ...(request.snippet === undefined ? {} : { snippet: request.snippet }),
    ...(request.context === undefined ? {} : { context: request.context }),
    ...(request.agents === undefined ? {} : { agents: request.agents }),
    rendered: request.rendered,
    ...(request.createdAt === undefined ? {} : { created_at: request.createdAt }),
    ...(request.expiresAt === undefined ? {} : { expires_at: request.expiresAt }),
  };
}

/** Emits the result of an operation as a plan if its tool shows plans. All plans of a run form one item in its log. */
export function emitWorkPlan(sink: PayloadSink, registry: ToolRegistry, operation: Operation): void {
  if (operation.status !== 'completed' || registry.get(operation.tool)?.shows !== 'plan') return;
  const item = planItem(newId('item'), operation);
  if (item === undefined) return;
  sink.emit({ type: 'item_start', item_id: item.id, item_type: 'plan' });
  sink.emit({ type: 'item_done', item_id: item.id, final_item: item });
}

/** Returns the plan item of an operation; undefined if the result is not a plan. */
function planItem(id: string, { callId, result }: Operation): PlanItem | undefined {
  const { plan, explanation } = (result ?? {}) as { plan?: unknown; explanation?: unknown };
  const item = { type: 'plan', id, call_id: callId, steps: plan, explanation: explanation ?? '' };
  return PlanItemSchema.safeParse(item).data;
}

export interface ContextFacts {
  scriptId: string;
  identity: RunIdentity;
  /** The host's own members, which override the defaults. */
  own: JsonObject;
  limits: Limits;
  mode: HarnessMode;
  approvalsRequired: boolean;
}

/** Writes the `context` that scripts read. The constant part is serialized once. */
export class ContextWriter {
  readonly #toolNames: readonly string[];
  readonly #endings = new WeakMap<Limits, Map<string, string>>();

  constructor(toolNames: readonly string[]) {
    this.#toolNames = toolNames;
  }

  /**
   * Returns the context as JSON text. If a name occurs twice, the last member counts, so the host cannot override
   * facts.
   */
  write({ scriptId, identity, own, limits, mode, approvalsRequired }: ContextFacts): string {
    const members = JSON.stringify({
      conversationId: identity.threadId,
      sessionId: identity.runId,
      turnId: identity.turnId,
      workingDirectory: '',
      provider: '',
      model: '',
      ...own,
      scriptId,
    });
    return `${members.slice(0, -1)},${this.#ending(limits, mode, approvalsRequired)}`;
  }

  #ending(limits: Limits, mode: HarnessMode, required: boolean): string {
    let endings = this.#endings.get(limits);
    if (endings === undefined) this.#endings.set(limits, (endings = new Map()));
    const key = `${mode} ${required}`;
    let ending = endings.get(key);
    if (ending === undefined) {
      const { timeoutMs, memoryMb, maxToolCalls: remainingToolBudget, maxConcurrentToolCalls } = limits;
      ending = JSON.stringify({
        sandbox: { timeoutMs, memoryMb, remainingToolBudget, maxConcurrentToolCalls, mode },
        capabilities: { tools: this.#toolNames },
        approvals: { required },
        telemetry: {},
      }).slice(1);
      endings.set(key, ending);
    }
    return ending;
  }
}
