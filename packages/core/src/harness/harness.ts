import {
  isScriptId,
  ToolscriptUsageError,
  type ApprovalPolicy,
  type HarnessMode,
  type Limits,
  type LimitsInput,
  type Operation,
  type Outcome,
  type ScriptFailure,
  type ScriptItemMembers,
  type StreamEvent,
} from '../protocol/index.js';
import {
  assertAnswerText,
  playText,
  runIdentity,
  sinkOf,
  type AnswerText,
  type ScriptBlock,
  type ScriptHost,
  type TextRunOptions,
} from '../answer/index.js';
import { failedOutcome } from '../session/index.js';
import type { CheckPoolStats } from '../script/type-checker/index.js';
import { createDetector, type Detector, type DetectorOptions } from '../script/index.js';
import type { ToolCatalog } from '../tools/index.js';
import { makeRunScriptTool, type RunScriptTool } from './as-tool.js';
import { newId } from '../text/crypto.js';
import { present } from '../protocol/json.js';
import {
  liveTools,
  openServices,
  scriptDeclarations,
  withTools,
  denyUnattended,
  operatorNotices,
} from './open-services.js';
import type { KeptScriptDetails } from '../durability/kept-scripts.js';
import { writeInstructions } from '../prompt/instructions.js';
import { checkHarnessOptions, checkRunOptions, resolveLimits, type HarnessOptions } from './options.js';
import { claimUnstored } from '../durability/claims.js';
import type { Decisions } from '../run/resumption.js';
import {
  disabledFailure,
  reportUnrunnable,
  runRequest,
  type RunEnd,
  type ScriptRequest,
} from '../run/script-runner.js';
import type { HarnessServices } from '../run/script-run.js';
import type {
  RunOptions,
  AsToolOptions,
  RunScriptOptions,
  CallToolOptions,
  ProcessTextOptions,
  Decided,
  ResumeOptions,
  RevertOptions,
  InstructionsOptions,
  HarnessStats,
  HarnessTools,
  Harness,
  TypecheckStats,
} from './harness-types.js';
import { listRevertible, revertCalls, type Reverted } from '../run/reverts.js';
import { callSaved, savedArguments, type PendingCall } from '../run/saved-call.js';
import { callOnce } from '../run/structured-call.js';
import { SuspendedScripts } from './suspended-scripts.js';

const DEFAULT_INSTRUCTION_TOKENS = 3_000;

/** Maximum number of narrowed harnesses that are reused. */
const MAX_NARROWER = 32;

/** Creates a harness. Throws a `ToolscriptUsageError` for an invalid option. */
export function createHarness(options: HarnessOptions): Harness {
  checkHarnessOptions(options);
  return new ToolscriptHarness(options);
}

class ToolscriptHarness implements Harness {
  readonly tools: HarnessTools;
  readonly #options: HarnessOptions;
  /**
   * The services for new runs. A change of the tools replaces these services. A run reads the services once, at its
   * start.
   */
  #services: HarnessServices;
  readonly #limits: Limits;
  readonly #suspended: SuspendedScripts;
  readonly #closed = new AbortController();
  readonly #isNarrowed: boolean;
  /**
   * The narrowed harnesses, by the names of their tools. They are reused, because a new harness checks types with a new
   * program.
   */
  readonly #narrower = new Map<string, Harness>();
  #closing: Promise<void> | undefined;
  /** The last instructions. An agent requests the same instructions in every turn. */
  #instructions: { key: string; text: string } | undefined;

  /** `wider`: the services of the harness that this one narrows. */
  constructor(options: HarnessOptions, wider?: HarnessServices) {
    this.#options = options;
    this.#isNarrowed = wider !== undefined;
    this.#limits = resolveLimits(this.hostLimits, undefined);
    this.#services =
      wider === undefined
        ? openServices(options, { limits: this.#limits, closed: this.#closed.signal })
        : withTools(options, wider, wider.registry.tools);
    this.#suspended = new SuspendedScripts({
      services: () => this.#services,
      mode: this.mode,
      hostLimits: this.hostLimits,
      approvals: options.approvals,
      onEvent: options.onEvent,
      textRun: (run, how) => this.#textRun(run, how),
    });
    this.tools = liveTools({
      all: () => this.#services.registry.tools,
      exposed: () => this.#services.tools,
      set: (tools) => {
        this.assertOpen();
        this.#services = withTools(options, this.#services, tools);
        this.#instructions = undefined;
        this.#narrower.clear();
      },
    });
  }

  get hasStore(): boolean {
    return this.#options.store !== undefined;
  }

  get mode(): HarnessMode {
    return this.#options.mode ?? 'enabled';
  }

  get limits(): Limits {
    return this.#limits;
  }

  get hostLimits(): Partial<LimitsInput> {
    return { ...this.#options.limits, ...queueWait(this.#options) };
  }

  detector({ sourceDeltas = false }: Pick<DetectorOptions, 'sourceDeltas'> = {}): Detector {
    return createDetector({ ...this.#options.detect, sourceDeltas });
  }

  runScript<T>(source: string, run: RunScriptOptions = {}): Promise<Outcome<T>> {
    return this.#runScript(source, run) as Promise<Outcome<T>>;
  }

  async #runScript(source: string, run: RunScriptOptions): Promise<Outcome> {
    this.assertOpen();
    checkRunOptions(run, 'runScript');
    if (typeof source !== 'string') throw new ToolscriptUsageError('runScript needs the script as a string.');
    const mode = run.mode ?? this.mode;
    if (mode === 'disabled') return failedOutcome(disabledFailure());
    const identity = runIdentity(run);
    const block = { source, language: run.language ?? 'ts', item: run.item };
    const sink = sinkOf(this.#options.onEvent, run, identity);
    return (await this.#runBlock(block, run.refusal, { run, mode, identity, sink, inAnswer: false })).outcome;
  }

  /** Runs a script, or reports the `refusal`. */
  async #runBlock(
    { source, language, item }: Omit<ScriptBlock, 'item'> & { item: ScriptItemMembers | undefined },
    refusal: ScriptFailure | undefined,
    how: { run: RunOptions } & Pick<ScriptRequest, 'mode' | 'identity' | 'sink' | 'inAnswer'>,
  ): Promise<RunEnd> {
    const { run, mode, identity, sink, inAnswer } = how;
    const format = item?.format ?? 'tool';
    const limits = this.#limitsWith(run.limits);
    if (refusal !== undefined)
      return { outcome: reportUnrunnable({ source, language, format, item, sink, limits }, refusal) };
    // This call lists each member, because spreading objects costs more than the rest of a short script's path through
    // this function.
    return runRequest(this.#services, {
      source,
      language,
      format,
      item,
      mode,
      limits,
      approvals: run.approvals ?? this.#options.approvals,
      approvalExpiryMs: this.#approvalExpiryMs(run),
      app: run.app,
      principal: run.principal,
      context: run.context ?? {},
      signal: run.signal,
      identity,
      sink,
      inAnswer,
    });
  }

  processText(text: AnswerText, run: ProcessTextOptions = {}): AsyncGenerator<StreamEvent, void, undefined> {
    this.assertOpen();
    assertAnswerText(text);
    checkRunOptions(run, 'processText');
    const mode = run.mode ?? this.mode;
    const { continueOnError = false, scriptSourceDeltas = false } = run;
    const how = { identity: runIdentity(run), mode, continueOnError };
    return playText(text, this.#textRun(run, how, scriptSourceDeltas && mode !== 'disabled'));
  }

  async resume(target: string, decisions: Decisions = {}, run: ResumeOptions = {}): Promise<Outcome> {
    this.assertOpen();
    checkRunOptions(run, 'resume');
    return this.#suspended.resume(target, decisions, run);
  }

  resumeText(
    target: string,
    decisions: Decisions = {},
    run: ResumeOptions = {},
  ): AsyncGenerator<StreamEvent, void, undefined> {
    this.assertOpen();
    checkRunOptions(run, 'resumeText');
    return this.#suspended.resumeText(target, decisions, run);
  }

  async decide(scriptId: string, decisions: Decisions, run: Pick<ResumeOptions, 'principal'> = {}): Promise<Decided> {
    this.assertOpen();
    checkRunOptions(run, 'decide');
    return this.#suspended.decide(scriptId, decisions, run);
  }

  async recover(scriptId: string, run: ResumeOptions = {}): Promise<Outcome> {
    this.assertOpen();
    checkRunOptions(run, 'recover');
    return this.#suspended.recover(scriptId, run);
  }

  async abandon(scriptId: string): Promise<boolean> {
    this.assertOpen();
    return this.hasStore && (await claimUnstored(this.#services, scriptId));
  }

  inspect(
    scriptId: string,
    { principal }: Pick<ResumeOptions, 'principal'> = {},
  ): Promise<KeptScriptDetails | undefined> {
    return this.#suspended.inspect(scriptId, principal);
  }

  async replay(scriptId: string, run: Pick<ResumeOptions, 'signal' | 'onEvent' | 'principal'> = {}): Promise<Outcome> {
    this.assertOpen();
    checkRunOptions(run, 'replay');
    return this.#suspended.replay(scriptId, run);
  }

  async revertible(scriptId: string, { principal }: Pick<ResumeOptions, 'principal'> = {}) {
    this.assertOpen();
    return listRevertible(this.#services, scriptId, principal);
  }

  async revert(scriptId: string, run: RevertOptions = {}): Promise<Reverted> {
    this.assertOpen();
    checkRunOptions(run, 'revert');
    const { limits, approvals, app, principal, signal } = this.#shared(run);
    const sink = sinkOf(this.#options.onEvent, run, runIdentity({}));
    const isDryRun = this.mode === 'dry-run';
    return revertCalls(this.#services, scriptId, { limits, approvals, app, principal, signal, sink, isDryRun });
  }

  async callTool(name: string, input: unknown, run: CallToolOptions = {}): Promise<Operation & Partial<PendingCall>> {
    this.assertOpen();
    checkRunOptions(run, 'callTool');
    if (typeof name !== 'string') throw new ToolscriptUsageError('callTool needs the name of a tool.');
    const { scriptId = newId('scr') } = run;
    if (!isScriptId(scriptId))
      throw new ToolscriptUsageError('callTool: scriptId must be 1 to 128 letters, digits, "_" and "-".');
    const identity = runIdentity(run);
    const sink = sinkOf(this.#options.onEvent, run, identity);
    const { context: _context, approvalExpiryMs, ...shared } = this.#shared(run);
    const call = {
      ...shared,
      callId: run.callId ?? newId('call'),
      name,
      input,
      sink,
      isDryRun: this.mode === 'dry-run',
    };
    const args = savedArguments(this.#services, call);
    if (args === undefined) return callOnce(this.#services, call);
    return callSaved(this.#services, { ...call, scriptId, args, identity, approvalExpiryMs });
  }

  catalog({ principal }: { principal?: string } = {}): ToolCatalog {
    return this.#services.catalog.forPrincipal(principal);
  }

  asTool({ onOutcome, ...run }: AsToolOptions = {}): RunScriptTool {
    checkRunOptions(run, 'asTool');
    const { modelOutputTokens } = this.#shared(run).limits;
    // If no listener or store receives the suspension, the script can never be resumed.
    const isLost = onOutcome === undefined && this.#options.store === undefined;
    const unattended = isLost ? denyUnattended(operatorNotices(this.#options)) : undefined;
    const approvals = run.approvals ?? this.#options.approvals ?? unattended;
    const runCode = async (code: string, signal: AbortSignal | undefined) => {
      const more = { ...(signal === undefined ? {} : { signal }), ...(approvals === undefined ? {} : { approvals }) };
      const outcome = await this.runScript(code, { ...run, ...more });
      onOutcome?.(outcome);
      return outcome;
    };
    return makeRunScriptTool(this.instructions({ carrier: 'tool' }), runCode, modelOutputTokens);
  }

  instructions(options: InstructionsOptions = {}): string {
    const { carrier = 'tool', tokenBudget = DEFAULT_INSTRUCTION_TOKENS, afterScript } = options;
    const limits = this.#limitsWith(options.limits);
    const key = JSON.stringify([carrier, tokenBudget, afterScript, limits]);
    if (this.#instructions?.key === key) return this.#instructions.text;
    const text = writeInstructions({
      carrier,
      afterScript,
      limits,
      tag: this.#options.detect?.tags?.[0] ?? 'tool-calls',
      tools: this.tools(),
      spawn: this.#services.tasks !== undefined,
      tokenBudget,
    });
    this.#instructions = { key, text };
    return text;
  }

  declarations(): string {
    return scriptDeclarations(this.tools(), this.#options);
  }

  stats(): HarnessStats {
    const { runtime, compiler, checkPool } = this.#services;
    const checked = checkPool?.stats();
    return {
      sandbox: runtime.stats(),
      compiler: compiler.stats(),
      ...(checked === undefined ? {} : { checker: checked }),
      typecheck: typecheckStats(this.#options.typecheck, checked),
    };
  }

  async warm(): Promise<void> {
    this.assertOpen();
    const { runtime, compiler, checker } = this.#services;
    await Promise.all([runtime.warm(), compiler.warm(), checker?.warm()]);
  }

  assertOpen(): void {
    if (this.#services.closed.aborted)
      throw new ToolscriptUsageError('This harness is closed. Create another one with createHarness.');
  }

  get approvals(): ApprovalPolicy | undefined {
    return this.#options.approvals;
  }

  narrowed(tools: readonly string[]): Harness {
    this.assertOpen();
    const { spawn, mcp, http } = this.#options.expose ?? {};
    const own = this.#services.tools.map(({ name }) => name).filter((name) => tools.includes(name));
    if (own.length === this.#services.tools.length) return this;
    const key = own.join();
    const known = this.#narrower.get(key);
    if (known !== undefined) return known;
    const expose = { ...present({ spawn, mcp, http }), tools: own };
    const narrower = new ToolscriptHarness({ ...this.#options, expose }, this.#services);
    if (this.#narrower.size >= MAX_NARROWER) this.#narrower.clear();
    this.#narrower.set(key, narrower);
    return narrower;
  }

  async close(): Promise<void> {
    if (this.#isNarrowed) return;
    this.#closed.abort();
    this.#services.tasks?.close();
    this.#services.checkPool?.close();
    this.#closing ??= this.#end();
    await this.#closing;
  }

  async #end(): Promise<void> {
    await Promise.all([this.#services.runtime.close(), this.#services.compiler.close()]);
    await this.#services.keeping?.leases.close();
  }

  #limitsWith(changes: Partial<LimitsInput> | undefined): Limits {
    return changes === undefined ? this.#limits : resolveLimits(this.#limits, changes);
  }

  #shared(run: RunOptions) {
    return {
      limits: this.#limitsWith(run.limits),
      approvals: run.approvals ?? this.#options.approvals,
      approvalExpiryMs: this.#approvalExpiryMs(run),
      app: run.app,
      principal: run.principal,
      context: run.context ?? {},
      signal: run.signal,
    };
  }

  #approvalExpiryMs(run: RunOptions): number | undefined {
    return run.limits?.approvalTimeoutMs ?? this.#options.limits?.approvalTimeoutMs;
  }

  #textRun(
    run: RunOptions & Pick<ProcessTextOptions, 'onOutcome'>,
    how: Pick<TextRunOptions, 'identity' | 'mode' | 'continueOnError' | 'nextSeq'>,
    sourceDeltas = false,
  ): TextRunOptions {
    const { onOutcome } = run;
    const { mode, identity } = how;
    return {
      ...how,
      modelOutputTokens: this.#limitsWith(run.limits).modelOutputTokens,
      signal: run.signal,
      listeners: [this.#options.onEvent, run.onEvent],
      onOutcome,
      hostFor: (sink, signal): ScriptHost => ({
        runScript: async (block, refusal) => {
          const how = { run: { ...run, signal }, mode, identity, sink, inAnswer: true };
          const end = await this.#runBlock(block, refusal, how);
          if (end.pending === undefined) onOutcome?.(end.outcome);
          return end;
        },
        callTool: ({ name, input, ...names }) =>
          this.callTool(name, input, { ...run, signal, sink, ...present(names) }),
        detector: () => this.detector({ sourceDeltas }),
      }),
    };
  }
}

function typecheckStats(mode: HarnessOptions['typecheck'] = 'error', pool: CheckPoolStats | undefined): TypecheckStats {
  const { unavailable = 0, reason } = pool ?? {};
  const hasWorked = pool !== undefined && pool.checked + pool.slow > 0;
  const tried = reason !== undefined ? 'unavailable' : hasWorked ? 'available' : 'untried';
  return { mode, state: mode === 'off' ? 'off' : tried, unchecked: unavailable, ...present({ reason }) };
}

function queueWait(options: HarnessOptions): Partial<LimitsInput> {
  const queueWaitMs = options.workers?.queueWaitMs;
  return queueWaitMs === undefined ? {} : { queueWaitMs };
}
