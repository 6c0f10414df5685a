import { createGate } from '../approvals/index.js';
import {
  ToolscriptUsageError,
  type AnswerSegment,
  type ApprovalPolicy,
  type HarnessMode,
  type JsonObject,
  type Limits,
  type LimitsInput,
  type Operation,
  type Outcome,
  type SandboxStats,
  type StreamEvent,
  type Tool,
} from '../protocol/index.js';
import { QuickJsPool } from '../sandbox/index.js';
import { createCompiler, type CompilerStats } from '../script/index.js';
import type { CheckPoolStats } from '../script/type-checker/index.js';
import {
  createCatalog,
  createFacade,
  createObservedShapes,
  createRegistry,
  declarationsFor,
  signatureOf,
  GUEST_DECLARATIONS,
  resolveExposure,
} from '../tools/index.js';
import { makeRunScriptTool, type RunScriptTool } from './as-tool.js';
import { EventStream, newId, type RunIdentity } from './event-stream.js';
import { LazyChecker } from './lazy-checker.js';
import { ContextWriter } from './script-context.js';
import { writeInstructions, type ScriptCarrier } from './instructions.js';
import { checkHarnessOptions, checkRunOptions, resolveLimits, type HarnessOptions } from './options.js';
import { assertAnswerText, processAnswer, type AnswerText } from './process-text.js';
import {
  abortDetached,
  disabledFailure,
  failedOutcome,
  reportSkipped,
  reportUnrunnable,
  runRequest,
  type RunnerParts,
} from './script-runner.js';
import { sessionPayload } from './session-payloads.js';

/** What one run may say beside its script. */
export interface RunOptions {
  /** The host's own context for tools. Never stored. */
  app?: unknown;
  /** Whose run it is. */
  principal?: string;
  /** Members of the script's `context`: conversationId, workingDirectory, provider, model … Plain JSON. */
  context?: JsonObject;
  /** Changes to the harness's limits, for this run. */
  limits?: Partial<LimitsInput>;
  signal?: AbortSignal;
  /** Replaces the harness's approvals for this run. */
  approvals?: ApprovalPolicy;
  onEvent?: (event: StreamEvent) => void;
}

export interface RunScriptOptions extends RunOptions {
  mode?: HarnessMode;
  /** Default 'ts', which JavaScript is too. */
  language?: 'ts' | 'js';
}

export interface ProcessTextOptions extends RunOptions {
  mode?: HarnessMode;
  /** Go on with later scripts after one has failed. Default false. */
  continueOnError?: boolean;
  /** Names for the run's events; made up where left out. */
  runId?: string;
  threadId?: string;
  turnId?: string;
}

export interface InstructionsOptions {
  /** How scripts reach the harness. Default 'tool'. */
  carrier?: ScriptCarrier;
  /** Most tokens of the whole text, which shows as much of the tools as that allows. Default 3 000. */
  tokenBudget?: number;
}

export interface HarnessStats {
  sandbox: SandboxStats;
  compiler: CompilerStats;
  /** Once the type checker was needed. */
  checker?: CheckPoolStats;
}

/** Runs the scripts that a model writes, against the tools it was given. */
export interface Harness {
  /** Runs one script. Rejects only for the host programmer's own mistakes. */
  runScript(source: string, options?: RunScriptOptions): Promise<Outcome>;
  /** Runs the scripts in a model's answer as they arrive. Leaving the loop early ends what runs. */
  processText(text: AnswerText, options?: ProcessTextOptions): AsyncGenerator<StreamEvent, void, undefined>;
  /** A structured call: the same tools, approvals and limits. Never rejects for what the tool did. */
  callTool(name: string, input: unknown, options?: RunOptions): Promise<Operation>;
  /** The tools that scripts and structured calls may use. */
  tools(): readonly Tool[];
  /** The harness as one tool for any agent library. */
  asTool(options?: RunOptions): RunScriptTool;
  /** The system text for a model. */
  instructions(options?: InstructionsOptions): string;
  /** What the model is shown of the tools: TypeScript declarations. */
  declarations(): string;
  stats(): HarnessStats;
  /** Starts threads ahead of the first script. */
  warm(): Promise<void>;
  /** Ends every run and frees threads. Idempotent. */
  close(): Promise<void>;
}

const DEFAULT_INSTRUCTION_TOKENS = 3_000;

/** Makes a harness. Throws a `ToolscriptUsageError` where an option is wrong. */
export function createHarness(options: HarnessOptions): Harness {
  checkHarnessOptions(options);
  return new ToolscriptHarness(options);
}

class ToolscriptHarness implements Harness {
  readonly #options: HarnessOptions;
  readonly #parts: RunnerParts;
  readonly #limits: Limits;
  #closing: Promise<void> | undefined;
  /** The last ones: an agent asks for the same in every turn. */
  #instructions: { key: string; text: string } | undefined;

  constructor(options: HarnessOptions) {
    this.#options = options;
    this.#limits = resolveLimits({ ...options.limits, ...queueWait(options) }, undefined);
    const registry = createRegistry(options.tools);
    const exposed = resolveExposure(options.expose ?? {}, registry, options.packs as never);
    const { queueWaitMs: _queueWaitMs, ...workers } = options.workers ?? {};
    const makeGate: RunnerParts['makeGate'] = (approvals, limits) =>
      createGate(approvals, { approvalTimeoutMs: limits.approvalTimeoutMs });
    makeGate(options.approvals, this.#limits);
    const checkMode = options.typecheck ?? 'error';
    const toolNames = Object.freeze([...registry.scriptNames(exposed)]);
    const observed = createObservedShapes();
    this.#parts = {
      compiler: options.compiler ?? createCompiler(),
      checker: checkMode === 'off' ? undefined : new LazyChecker(() => this.#checkerOptions(checkMode)),
      runtime:
        options.runtime === undefined || options.runtime === 'quickjs' ? new QuickJsPool(workers) : options.runtime,
      registry,
      exposed,
      toolNames,
      contexts: new ContextWriter(toolNames),
      spawn: options.expose?.spawn === true,
      observed,
      catalog: createCatalog(
        registry.tools.filter(({ name }) => exposed.has(name)),
        observed,
      ),
      makeGate,
      onInternalError: options.onInternalError,
      detached: new Set(),
    };
  }

  async runScript(source: string, run: RunScriptOptions = {}): Promise<Outcome> {
    this.#assertOpen();
    checkRunOptions(run, 'runScript');
    if (typeof source !== 'string') throw new ToolscriptUsageError('runScript needs the script as a string.');
    const mode = run.mode ?? this.#options.mode ?? 'enabled';
    if (mode === 'disabled') return failedOutcome(disabledFailure());
    const { limits, approvals, app, principal, context, signal } = this.#shared(run);
    const stream = this.#stream(run, this.#identity({}));
    const language = run.language ?? 'ts';
    return runRequest(this.#parts, {
      source,
      language,
      format: 'tool',
      mode,
      limits,
      approvals,
      app,
      principal,
      context,
      signal,
      stream,
    });
  }

  processText(text: AnswerText, run: ProcessTextOptions = {}): AsyncGenerator<StreamEvent, void, undefined> {
    this.#assertOpen();
    assertAnswerText(text);
    checkRunOptions(run, 'processText');
    const mode = run.mode ?? this.#options.mode ?? 'enabled';
    const shared = this.#shared(run);
    const listeners = [this.#options.onEvent, run.onEvent].filter((listener) => listener !== undefined);
    return processAnswer(text, {
      identity: this.#identity(run),
      mode,
      detect: this.#options.detect ?? {},
      continueOnError: run.continueOnError ?? false,
      signal: run.signal,
      onEvent: (event) => {
        for (const listener of listeners) listener(event);
      },
      runScript: (segment, stream, signal) =>
        runRequest(this.#parts, { ...shared, ...blockOf(segment), mode, stream, signal }),
      reportMalformed: (segment, failure, stream) => reportUnrunnable({ ...blockOf(segment), stream }, failure),
      reportSkipped: (segment, stream) => reportSkipped({ ...blockOf(segment), stream }),
    });
  }

  async callTool(name: string, input: unknown, run: RunOptions = {}): Promise<Operation> {
    this.#assertOpen();
    checkRunOptions(run, 'callTool');
    if (typeof name !== 'string') throw new ToolscriptUsageError('callTool needs the name of a tool.');
    const { limits, approvals, app, principal } = this.#shared(run);
    const stream = this.#stream(run, this.#identity({}));
    const started = performance.now();
    const facade = createFacade({
      registry: this.#parts.registry,
      exposed: this.#parts.exposed,
      observed: this.#parts.observed,
      limits,
      gate: this.#parts.makeGate(approvals, limits),
      app,
      principal,
      scriptId: undefined,
      plan: [],
      clock: { nowMs: () => performance.now() - started },
      startedAtMs: 0,
      onEvent: (event) => {
        if (!stream.isHeard || event.type === 'waiting_changed' || event.type === 'progress') return;
        const payload = sessionPayload(event, undefined);
        if (payload !== undefined) stream.emit(payload);
      },
    });
    const callId = newId('call');
    const abort = () => facade.abort(callId, 'the run was cancelled');
    run.signal?.addEventListener('abort', abort, { once: true });
    const pending = facade.call({ callId, callIndex: 0, tool: name, ...argumentsOf(input) });
    if (run.signal?.aborted === true) abort();
    const result = await pending;
    run.signal?.removeEventListener('abort', abort);
    const [operation] = facade.operations();
    if (operation !== undefined) return operation;
    const error = result.ok
      ? undefined
      : { code: result.error.code as NonNullable<Operation['error']>['code'], message: result.error.message };
    return {
      callId,
      tool: name,
      input,
      effect: 'external',
      status: 'failed',
      ...(error === undefined ? {} : { error }),
      startedAtMs: 0,
      durationMs: 0,
    };
  }

  tools(): readonly Tool[] {
    return this.#parts.registry.tools.filter(({ name }) => this.#parts.exposed.has(name));
  }

  asTool(run: RunOptions = {}): RunScriptTool {
    checkRunOptions(run, 'asTool');
    const { modelOutputTokens } = this.#shared(run).limits;
    const runCode = (code: string, signal: AbortSignal | undefined) =>
      this.runScript(code, { ...run, ...(signal === undefined ? {} : { signal }) });
    return makeRunScriptTool(this.instructions({ carrier: 'tool' }), runCode, modelOutputTokens);
  }

  instructions({ carrier = 'tool', tokenBudget = DEFAULT_INSTRUCTION_TOKENS }: InstructionsOptions = {}): string {
    const key = `${carrier} ${tokenBudget}`;
    if (this.#instructions?.key === key) return this.#instructions.text;
    const text = writeInstructions({
      carrier,
      limits: this.#limits,
      tag: this.#options.detect?.tags?.[0] ?? 'tool-calls',
      tools: this.tools(),
      tokenBudget,
    });
    this.#instructions = { key, text };
    return text;
  }

  declarations(): string {
    const tools = this.tools();
    return `${GUEST_DECLARATIONS}\n${declarationsFor(tools, { detail: 'full', optionalMembers: true, spawn: this.#parts.spawn })}`;
  }

  stats(): HarnessStats {
    const { runtime, compiler, checker } = this.#parts;
    const checked = checker?.stats();
    return {
      sandbox: runtime.stats(),
      compiler: compiler.stats(),
      ...(checked === undefined ? {} : { checker: checked }),
    };
  }

  async warm(): Promise<void> {
    this.#assertOpen();
    const { runtime, compiler, checker } = this.#parts;
    await Promise.all([runtime.warm(), compiler.warm(), checker?.warm()]);
  }

  close(): Promise<void> {
    abortDetached(this.#parts);
    this.#parts.checker?.close();
    this.#closing ??= Promise.all([this.#parts.runtime.close(), this.#parts.compiler.close()]).then(() => {});
    return this.#closing;
  }

  #checkerOptions(mode: 'error' | 'warn') {
    const { registry, toolNames } = this.#parts;
    return {
      mode,
      declarations: this.declarations(),
      toolNames,
      signatureOf: (name: string) => {
        const tool = registry.get(name);
        return tool === undefined ? undefined : signatureOf(tool);
      },
    };
  }

  #shared(run: RunOptions) {
    return {
      limits: run.limits === undefined ? this.#limits : resolveLimits(this.#limits, run.limits),
      approvals: run.approvals ?? this.#options.approvals,
      app: run.app,
      principal: run.principal,
      context: run.context ?? {},
      signal: run.signal,
    };
  }

  #stream(run: RunOptions, identity: RunIdentity): EventStream {
    return new EventStream(identity, [this.#options.onEvent, run.onEvent]);
  }

  #identity(names: { runId?: string; threadId?: string; turnId?: string }): RunIdentity {
    return {
      runId: names.runId ?? newId('run'),
      threadId: names.threadId ?? newId('thr'),
      turnId: names.turnId ?? newId('turn'),
    };
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new ToolscriptUsageError('This harness is closed.');
  }
}

function blockOf({ source, language, format }: Extract<AnswerSegment, { type: 'script' | 'malformed' }>) {
  return { source, language, format };
}

function queueWait(options: HarnessOptions): Partial<LimitsInput> {
  const queueWaitMs = options.workers?.queueWaitMs;
  return queueWaitMs === undefined ? {} : { queueWaitMs };
}

/** What cannot be written as JSON is refused by the facade, as any other wrong argument. */
function argumentsOf(input: unknown): { argsJson: string; argsProblem?: string } {
  try {
    return { argsJson: JSON.stringify(input) ?? '' };
  } catch {
    return { argsJson: '', argsProblem: 'it is not JSON' };
  }
}
