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
import type { ScriptCapability } from '../protocol/script-capability.js';
import {
  assertAnswerText,
  EventStream,
  playText,
  runIdentity,
  type AnswerContext,
  type AnswerText,
  type ScriptBlock,
  type ScriptHost,
  type TextRunOptions,
} from '../answer/index.js';
import { failedOutcome } from '../calls/session/index.js';
import type { CheckPoolStats } from '../script/check/index.js';
import { createDetector, type Detector } from '../script/index.js';
import type { ToolCatalog } from '../tools/index.js';
import { makeRunScriptTool, type RunScriptTool } from './as-tool.js';
import { newId } from '../text/crypto.js';
import { present } from '../protocol/json.js';
import {
  scriptCapability,
  liveTools,
  openServices,
  scriptDeclarations,
  withTools,
  denyUnattendedCalls,
  operatorNotices,
} from './open-services.js';
import {
  hasOpenScript,
  scriptsOfRun,
  type KeptScriptDetails,
  type ScriptsOfRunOptions,
} from '../run/durability/kept-scripts.js';
import { DEFAULT_INSTRUCTION_TOKENS, writeInstructions } from '../prompt/instructions.js';
import { checkHarnessOptions, checkRunOptions, resolveLimits, type HarnessOptions } from './options.js';
import { claimUnstoredScript } from '../run/durability/claims.js';
import type { Decisions } from '../run/resumption.js';
import { disabledFailure, reportUnrunnable, runText, type ScriptRunEnd } from '../run/script-runner.js';
import type { HarnessServices } from '../run/script-run.js';
import type {
  AsToolOptions,
  RunScriptOptions,
  CallToolOptions,
  ProcessTextOptions,
  DecideResult,
  ResumeOptions,
  RevertOptions,
  InstructionsOptions,
  HarnessStats,
  HarnessTools,
  Harness,
  TypecheckStats,
  WaitScriptOptions,
} from './harness-types.js';
import { listRevertible, revertCalls, type RevertResult } from '../run/reverts.js';
import { cancelScript, waitForScript } from '../run/awaited-scripts.js';
import { makeCall, type PendingCall } from '../run/saved-call.js';
import type { RunContext, RunOptions } from '../protocol/run-context.js';
import { makeContext, type RunKind } from './make-context.js';
import { SuspendedScripts } from './suspended-scripts.js';

/** Maximum number of narrowed harnesses that are reused. */
const MAX_NARROWER = 32;

/**
 * Creates a harness. Throws a `ToolscriptUsageError` for an invalid option.
 *
 * @example
 *
 * ```ts
 * const harness = createHarness({ tools: [getWeather], approvals: 'deny', store: fileStore('/var/lib/my-agent') });
 * const outcome = await harness.runScript(`return (await tools.getWeather({ city: 'Oslo' })).celsius`);
 * await harness.close();
 * ```
 */
export function createHarness(options: HarnessOptions): Harness {
  checkHarnessOptions(options);
  return new ToolscriptHarness(options);
}

/** A script to run, and the heap in which it starts. */
type BlockToRun = Omit<ScriptBlock, 'item'> &
  Pick<RunScriptOptions, 'heap' | 'threadId'> & { item: ScriptItemMembers | undefined; isSeparate?: boolean };

class ToolscriptHarness implements Harness {
  readonly tools: HarnessTools;
  readonly #options: HarnessOptions;
  /**
   * The services for new runs. A change of the tools replaces these services. A run reads the services once, at its
   * start.
   */
  #services: HarnessServices;
  readonly #limits: Limits;
  readonly #suspendedScripts: SuspendedScripts;
  readonly #closeController = new AbortController();
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
        ? openServices(options, this.#closeController.signal)
        : withTools(options, wider, wider.registry.tools);
    this.#suspendedScripts = new SuspendedScripts({
      services: () => this.#services,
      mode: this.mode,
      hostLimits: this.hostLimits,
      context: (run, kind) => this.#context(run, kind),
      answerContext: (run, kind) => this.#answerContext(run, kind),
      textRun: (context, run) => this.#textRun(context, run),
    });
    this.tools = liveTools({
      all: () => this.#services.registry.tools,
      exposed: () => this.#services.tools,
      explanations: this.#services.explanations,
      set: (tools) => {
        this.assertOpen();
        this.#services = withTools(options, this.#services, tools);
        this.#instructions = undefined;
        this.#narrower.clear();
      },
    });
  }

  get hasFlushedStore(): boolean {
    return this.#services.keeping?.leases.store.isFlushed === true;
  }

  get capability(): ScriptCapability {
    const { seal, runtime } = this.#services;
    return scriptCapability(this.#options.suspensionKey === undefined ? undefined : seal, runtime.bridge);
  }

  get guardsArguments(): boolean {
    return this.#services.guardsArguments || this.#services.flow !== undefined;
  }

  get hasStore(): boolean {
    return this.#options.store !== undefined;
  }

  get scripts(): 'separate' | 'one-program' {
    return this.#services.isOneProgram ? 'one-program' : 'separate';
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

  detector(options: Parameters<Harness['detector']>[0] = {}): Detector {
    const { detect } = this.#options;
    const { nonce = detect?.nonce, sourceDeltas = false } = options;
    return createDetector({ ...detect, nonce: nonce === false ? undefined : nonce, sourceDeltas });
  }

  runScript<T>(source: string, run: RunScriptOptions = {}): Promise<Outcome<T>> {
    return this.#runScript(source, run, this.#options.yieldAfterMs) as Promise<Outcome<T>>;
  }

  async #runScript(source: string, run: RunScriptOptions, yieldDefault?: number): Promise<Outcome> {
    this.assertOpen();
    checkRunOptions(run, 'runScript');
    if (typeof source !== 'string')
      throw new ToolscriptUsageError('ARGUMENT_INVALID', { method: 'runScript', expected: 'the script as a string' });
    const { mode = this.mode, language = 'ts', item, refusal, repeatsReadText = false, origin, principal } = run;
    if (mode === 'disabled') return failedOutcome(disabledFailure());
    const kind = { identity: runIdentity(run), mode, repeatsReadText, origin };
    const { heap, threadId, program = 'thread' } = run;
    const place = { threadId: program === 'own' ? undefined : threadId, isSeparate: program === 'none' };
    const block = { source, language, item, heap, ...place };
    const { signal, yieldAfterMs = item === undefined ? yieldDefault : undefined } = run;
    if (yieldAfterMs === undefined) return (await this.#runBlock(this.#context(run, kind), block, refusal)).outcome;
    return this.#services.running.run({ threadId, principal, signal, yieldAfterMs }, async (signal, live) =>
      this.#runBlock(this.#context({ ...run, signal }, { ...kind, live }), block, refusal),
    );
  }

  async waitScript<T>(scriptId: string, run: WaitScriptOptions = {}): Promise<Outcome<T>> {
    const { forMs, signal, principal } = run;
    this.#checkAsked(scriptId, run, 'waitScript');
    return (await waitForScript(this.#services, { scriptId, principal }, { forMs, signal })) as Outcome<T>;
  }

  async cancelScript<T>(scriptId: string, run: Pick<WaitScriptOptions, 'principal'> = {}): Promise<Outcome<T>> {
    this.#checkAsked(scriptId, run, 'cancelScript');
    return (await cancelScript(this.#services, { scriptId, principal: run.principal })) as Outcome<T>;
  }

  async endProgram(threadId: string, run: Pick<WaitScriptOptions, 'principal'> = {}): Promise<void> {
    this.assertOpen();
    checkRunOptions(run, 'endProgram');
    const { running, keeping, programs } = this.#services;
    // defence: open-scripts-keep-their-heaps
    if (running.hasOpen(threadId)) return;
    if (keeping !== undefined && (await hasOpenScript(keeping.leases.store.journal, threadId))) return;
    await programs.delete(threadId, run.principal);
  }

  #checkAsked(scriptId: string, run: WaitScriptOptions, method: string): void {
    this.assertOpen();
    checkRunOptions(run, method);
    if (typeof scriptId !== 'string')
      throw new ToolscriptUsageError('ARGUMENT_INVALID', { method, expected: 'the id of a script as a string' });
  }

  /** Runs a script, or reports the `refusal`. */
  #runBlock(
    context: RunContext,
    { source, language, item, heap, threadId, isSeparate = false }: BlockToRun,
    refusal: ScriptFailure | undefined,
  ): ScriptRunEnd | Promise<ScriptRunEnd> {
    const text = { source, language, format: item?.format ?? 'tool', item, heap, threadId, isSeparate };
    return refusal === undefined
      ? runText(this.#services, heap === undefined || !this.guardsArguments ? context : contextOfHeap(context), text)
      : { outcome: reportUnrunnable(context, text, refusal) };
  }

  processText(text: AnswerText, run: ProcessTextOptions = {}): AsyncGenerator<StreamEvent, void, undefined> {
    this.assertOpen();
    assertAnswerText(text);
    checkRunOptions(run, 'processText');
    const { mode = this.mode, scriptSourceDeltas = false } = run;
    const context = this.#answerContext(run, { identity: runIdentity(run), mode, origin: run.origin });
    return playText(text, this.#textRun(context, run, scriptSourceDeltas && mode !== 'disabled'));
  }

  async resume(target: string, decisions: Decisions = {}, run: ResumeOptions = {}): Promise<Outcome> {
    this.assertOpen();
    checkRunOptions(run, 'resume');
    return this.#suspendedScripts.resume(target, decisions, run);
  }

  resumeText(
    target: string,
    decisions: Decisions = {},
    run: ResumeOptions = {},
  ): AsyncGenerator<StreamEvent, void, undefined> {
    this.assertOpen();
    checkRunOptions(run, 'resumeText');
    return this.#suspendedScripts.resumeText(target, decisions, run);
  }

  async decide(
    scriptId: string,
    decisions: Decisions,
    run: Pick<ResumeOptions, 'principal'> = {},
  ): Promise<DecideResult> {
    this.assertOpen();
    checkRunOptions(run, 'decide');
    return this.#suspendedScripts.decide(scriptId, decisions, run);
  }

  async recover(scriptId: string, run: ResumeOptions = {}): Promise<Outcome> {
    this.assertOpen();
    checkRunOptions(run, 'recover');
    return this.#suspendedScripts.recover(scriptId, run);
  }

  async abandon(scriptId: string): Promise<boolean> {
    this.assertOpen();
    return this.hasStore && (await claimUnstoredScript(this.#services, scriptId));
  }

  inspect(
    scriptId: string,
    { principal }: Pick<ResumeOptions, 'principal'> = {},
  ): Promise<KeptScriptDetails | undefined> {
    return this.#suspendedScripts.inspect(scriptId, principal);
  }

  scriptsOfRun(runId: string, options?: ScriptsOfRunOptions): Promise<readonly KeptScriptDetails[]> {
    return scriptsOfRun(this.#services, runId, options);
  }

  async replay(scriptId: string, run: Pick<ResumeOptions, 'signal' | 'onEvent' | 'principal'> = {}): Promise<Outcome> {
    this.assertOpen();
    checkRunOptions(run, 'replay');
    return this.#suspendedScripts.replay(scriptId, run);
  }

  async revertible(scriptId: string, { principal }: Pick<ResumeOptions, 'principal'> = {}) {
    this.assertOpen();
    return listRevertible(this.#services, scriptId, principal);
  }

  async revert(scriptId: string, run: RevertOptions = {}): Promise<RevertResult> {
    this.assertOpen();
    checkRunOptions(run, 'revert');
    const context = this.#context(run, { identity: runIdentity({}), mode: this.mode });
    return revertCalls(this.#services, context, scriptId);
  }

  async callTool(name: string, input: unknown, run: CallToolOptions = {}): Promise<Operation & Partial<PendingCall>> {
    this.assertOpen();
    checkRunOptions(run, 'callTool');
    if (typeof name !== 'string')
      throw new ToolscriptUsageError('ARGUMENT_INVALID', { method: 'callTool', expected: 'the name of a tool' });
    const { callId = newId('call'), scriptId = newId('scr') } = run;
    if (!isScriptId(scriptId))
      throw new ToolscriptUsageError('OPTION_INVALID', {
        option: 'callTool: scriptId',
        expected: '1 to 128 letters, digits, "_" and "-"',
      });
    const context = this.#context(run, { identity: runIdentity(run), mode: this.mode, origin: run.origin });
    return makeCall(this.#services, context, { callId, scriptId, name, input });
  }

  catalog({ principal }: { principal?: string | undefined } = {}): ToolCatalog {
    return this.#services.catalog.forPrincipal(principal);
  }

  asTool({ onOutcome, ...run }: AsToolOptions = {}): RunScriptTool {
    checkRunOptions(run, 'asTool');
    const { modelOutputTokens } = this.#limitsWith(run.limits);
    // If no listener or store receives the suspension, the script can never be resumed.
    const isLost = onOutcome === undefined && this.#options.store === undefined;
    const unattended = isLost ? denyUnattendedCalls(operatorNotices(this.#options)) : undefined;
    const approvals = run.approvals ?? this.#options.approvals ?? unattended;
    // The tool knows only what its own scripts have returned.
    const origin = { userTexts: [], hasReadUntrusted: false };
    const runCode = async (code: string, signal: AbortSignal | undefined) => {
      const more = { ...(signal === undefined ? {} : { signal }), ...(approvals === undefined ? {} : { approvals }) };
      const outcome = await this.#runScript(code, { ...run, ...more, origin: { ...origin } });
      origin.hasReadUntrusted ||= outcome.untrusted === true;
      onOutcome?.(outcome);
      return outcome;
    };
    return makeRunScriptTool(this.instructions({ carrier: 'tool' }), runCode, modelOutputTokens);
  }

  instructions(options: InstructionsOptions = {}): string {
    const { carrier = 'tool', tokenBudget = DEFAULT_INSTRUCTION_TOKENS, afterScript, catalog = true } = options;
    const { detect } = this.#options;
    const { nonce = detect?.nonce, principal, resultTypes = true } = options;
    const limits = this.#limitsWith(options.limits);
    const key = JSON.stringify([carrier, tokenBudget, afterScript, limits, nonce, principal, resultTypes]);
    if (catalog && this.#instructions?.key === key) return this.#instructions.text;
    const text = writeInstructions({
      carrier,
      afterScript,
      limits,
      tag: detect?.tags?.[0] ?? 'tool-calls',
      nonce,
      tools: catalog ? this.tools() : [],
      guardsArguments: this.#services.guardsArguments,
      resultType: (tool, depth) =>
        resultTypes ? this.#services.observed?.firstType(tool, principal, depth) : undefined,
      spawn: this.#services.tasks !== undefined,
      tokenBudget,
    });
    if (catalog) this.#instructions = { key, text };
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
    if (this.#services.closed.aborted) throw new ToolscriptUsageError('HARNESS_CLOSED');
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
    this.#closeController.abort();
    this.#services.tasks?.close();
    this.#services.checkPool?.close();
    this.#closing ??= this.#end();
    await this.#closing;
  }

  async #end(): Promise<void> {
    const { runtime, compiler, copies } = this.#services;
    await Promise.all([runtime.close(), compiler.close(), copies.close()]);
    await this.#services.running.close();
    await this.#services.keeping?.leases.close();
  }

  #limitsWith(changes: Partial<LimitsInput> | undefined): Limits {
    return changes === undefined ? this.#limits : resolveLimits(this.#limits, changes);
  }

  #context(run: RunOptions, kind: RunKind): RunContext {
    return makeContext(this.#options, this.#limits, run, kind);
  }

  /** Makes the context of an answer, whose events are a run of their own. */
  #answerContext(run: RunOptions, kind: RunKind): AnswerContext {
    const sink = new EventStream(kind.identity, [this.#options.onEvent, run.onEvent], kind.nextSeq);
    return { ...this.#context(run, { ...kind, sink, isInAnswer: true }), sink };
  }

  #textRun(
    context: AnswerContext,
    run: Pick<ProcessTextOptions, 'continueOnError' | 'onOutcome' | 'heap' | 'threadId'>,
    sourceDeltas = false,
  ): TextRunOptions {
    const { continueOnError = false, onOutcome, threadId } = run;
    let { heap } = run;
    let { origin } = context;
    return {
      context,
      continueOnError,
      onOutcome,
      hostFor: (context): ScriptHost => ({
        runScript: async (block, refusal) => {
          const end = await this.#runBlock(
            origin === context.origin ? context : { ...context, origin },
            { ...block, heap, threadId },
            refusal,
          );
          heap = end.outcome.heap ?? heap;
          // The next script of the answer may use the variables of this one.
          const isHeld = heap !== undefined && end.outcome.operations.some(({ untrusted }) => untrusted === true);
          if (isHeld) origin = { userTexts: [], hasReadUntrusted: false, ...origin, holdsUntrusted: true };
          if (end.pending === undefined) onOutcome?.(end.outcome);
          return end;
        },
        callTool: ({ scriptId = newId('scr'), ...call }) => makeCall(this.#services, context, { ...call, scriptId }),
        detector: () => this.detector({ sourceDeltas }),
      }),
    };
  }
}

/** The variables of an unknown history may hold untrusted text. */
function contextOfHeap(context: RunContext): RunContext {
  const { origin } = context;
  if (origin?.holdsUntrusted !== undefined) return context;
  return { ...context, origin: { userTexts: [], hasReadUntrusted: false, ...origin, holdsUntrusted: true } };
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
