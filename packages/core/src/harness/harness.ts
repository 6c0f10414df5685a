import {
  isScriptId,
  scriptFailure,
  ToolscriptUsageError,
  type HarnessMode,
  type Limits,
  type LimitsInput,
  type Operation,
  type Outcome,
  type RunIdentity,
  type ScriptFailure,
  type ScriptItemMembers,
  type StreamEvent,
  type Tool,
} from '../protocol/index.js';
import {
  assertAnswerText,
  bothSinks,
  emitRefusal,
  EventStream,
  playRest,
  playText,
  type AnswerText,
  type PayloadSink,
  type ResumeFirst,
  type ScriptBlock,
  type ScriptHost,
  type TextRunOptions,
} from '../answer/index.js';
import { failedOutcome } from '../session/index.js';
import { createDetector, type Detector, type DetectorOptions } from '../script/index.js';
import { declarationsFor, GUEST_DECLARATIONS } from '../tools/index.js';
import { makeRunScriptTool, type RunScriptTool } from './as-tool.js';
import { newId } from '../text/new-id.js';
import { inspectScript, type KeptScriptDetails } from '../durability/kept-scripts.js';
import { writeInstructions } from '../prompt/instructions.js';
import { openServices } from './open-services.js';
import { checkHarnessOptions, checkRunOptions, resolveLimits, type HarnessOptions } from './options.js';
import {
  checkDecisions,
  findRecoverable,
  decideScript,
  openFor,
  recoverScript,
  replayScript,
  resumedLimits,
  resumeScript,
  waitsForNobody,
  type Decisions,
  type Recoverable,
  type ResumeHost,
  type WaitingScript,
} from '../run/resumption.js';
import {
  cannotResume,
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
  InstructionsOptions,
  HarnessStats,
  Harness,
} from './harness-types.js';
import { callSaved, savedArguments, type PendingCall } from '../run/saved-call.js';
import { callOnce } from '../run/structured-call.js';

const DEFAULT_INSTRUCTION_TOKENS = 3_000;

/** Creates a harness. Throws a `ToolscriptUsageError` for an invalid option. */
export function createHarness(options: HarnessOptions): Harness {
  checkHarnessOptions(options);
  return new ToolscriptHarness(options);
}

class ToolscriptHarness implements Harness {
  readonly #options: HarnessOptions;
  readonly #services: HarnessServices;
  readonly #limits: Limits;
  #closing: Promise<void> | undefined;
  /** The last instructions, because an agent requests the same ones in every turn. */
  #instructions: { key: string; text: string } | undefined;

  constructor(options: HarnessOptions) {
    this.#options = options;
    this.#limits = resolveLimits(this.hostLimits, undefined);
    this.#services = openServices(options, {
      limits: this.#limits,
      declarations: () => this.declarations(),
      isClosing: () => this.#closing !== undefined,
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

  async runScript(source: string, run: RunScriptOptions = {}): Promise<Outcome> {
    this.#assertOpen();
    checkRunOptions(run, 'runScript');
    if (typeof source !== 'string') throw new ToolscriptUsageError('runScript needs the script as a string.');
    const mode = run.mode ?? this.mode;
    if (mode === 'disabled') return failedOutcome(disabledFailure());
    const identity = this.#identity(run);
    const block = { source, language: run.language ?? 'ts', item: run.item };
    const sink = this.#sink(run, identity);
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
    // Member by member: spreading objects costs more than the rest of a short script's way through here.
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
    this.#assertOpen();
    assertAnswerText(text);
    checkRunOptions(run, 'processText');
    const mode = run.mode ?? this.mode;
    const { continueOnError = false, scriptSourceDeltas = false } = run;
    const how = { identity: this.#identity(run), mode, continueOnError };
    return playText(text, this.#textRun(run, how, scriptSourceDeltas && mode !== 'disabled'));
  }

  async resume(target: string, decisions: Decisions = {}, run: ResumeOptions = {}): Promise<Outcome> {
    this.#assertOpen();
    checkRunOptions(run, 'resume');
    const waiting = await this.#findResumable(target, decisions, run);
    return 'outcome' in waiting ? waiting.outcome : this.#resumeOpened(waiting, decisions, run);
  }

  async #resumeOpened(waiting: WaitingScript, decisions: Decisions, run: ResumeOptions): Promise<Outcome> {
    const { frame, nextSeq, answer } = waiting.suspension;
    if (answer === undefined) {
      const host = this.#resumeHost(run, frame.identity, nextSeq);
      return (await resumeScript(this.#services, waiting, decisions, host)).outcome;
    }
    let outcome: Outcome | undefined;
    const events = this.#resumeAnswer(waiting, decisions, run, (first) => (outcome = first));
    for await (const _event of events);
    return outcome!;
  }

  resumeText(
    target: string,
    decisions: Decisions = {},
    run: ResumeOptions = {},
  ): AsyncGenerator<StreamEvent, void, undefined> {
    this.#assertOpen();
    checkRunOptions(run, 'resumeText');
    return this.#resumeTarget(target, decisions, run);
  }

  async *#resumeTarget(
    target: string,
    decisions: Decisions,
    run: ResumeOptions,
  ): AsyncGenerator<StreamEvent, void, undefined> {
    const waiting = await this.#findResumable(target, decisions, run);
    if ('outcome' in waiting) yield* this.#refusalEvents(waiting.outcome, run);
    else yield* this.#resumeAnswer(waiting, decisions, run, () => {});
  }

  async decide(scriptId: string, decisions: Decisions, run: Pick<ResumeOptions, 'principal'> = {}): Promise<Decided> {
    this.#assertOpen();
    checkRunOptions(run, 'decide');
    const waiting = await this.#findWaitingScript(scriptId, decisions, run, 'decide');
    if ('outcome' in waiting) return { ok: false, error: errorOf(waiting.outcome) };
    const decided = await decideScript(this.#services, waiting, decisions);
    return 'outcome' in decided ? { ok: false, error: errorOf(decided.outcome) } : { ok: true, ...decided };
  }

  async recover(scriptId: string, run: ResumeOptions = {}): Promise<Outcome> {
    this.#assertOpen();
    checkRunOptions(run, 'recover');
    let found: Recoverable | RunEnd = await findRecoverable(this.#services, scriptId, run);
    if ('outcome' in found) return found.outcome;
    const refusal = this.#refusalToResume('recorded' in found ? found.recorded : found.suspension.frame);
    if (refusal !== undefined) return failedOutcome(refusal, scriptId);
    if ('recorded' in found) {
      const host = this.#resumeHost(run, this.#identity({}));
      found = await recoverScript(this.#services, scriptId, host, run);
    }
    return 'outcome' in found ? found.outcome : this.#resumeOpened(found, {}, run);
  }

  async inspect(
    scriptId: string,
    { principal }: Pick<ResumeOptions, 'principal'> = {},
  ): Promise<KeptScriptDetails | undefined> {
    const details = await inspectScript(this.#services, scriptId);
    // defence: inspect-asks-for-the-principal
    return details !== undefined && details.principal !== principal ? undefined : details;
  }

  async replay(scriptId: string, run: Pick<ResumeOptions, 'signal' | 'onEvent' | 'principal'> = {}): Promise<Outcome> {
    this.#assertOpen();
    checkRunOptions(run, 'replay');
    const host = this.#resumeHost({ ...run, approvals: 'deny' }, this.#identity({}));
    return (await replayScript(this.#services, scriptId, { ...host, ceilings: {} }, run.principal)).outcome;
  }

  async callTool(name: string, input: unknown, run: CallToolOptions = {}): Promise<Operation & Partial<PendingCall>> {
    this.#assertOpen();
    checkRunOptions(run, 'callTool');
    if (typeof name !== 'string') throw new ToolscriptUsageError('callTool needs the name of a tool.');
    const identity = this.#identity(run);
    const sink = this.#sink(run, identity);
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
    return callSaved(this.#services, { ...call, args, identity, approvalExpiryMs });
  }

  tools(): readonly Tool[] {
    return this.#services.registry.tools.filter(({ name }) => this.#services.exposed.has(name));
  }

  asTool({ onOutcome, ...run }: AsToolOptions = {}): RunScriptTool {
    checkRunOptions(run, 'asTool');
    const { modelOutputTokens } = this.#shared(run).limits;
    // If nobody receives the suspension, the script could never be resumed.
    const isLost = onOutcome === undefined && this.#options.store === undefined;
    const approvals = run.approvals ?? this.#options.approvals ?? (isLost ? 'deny' : undefined);
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
    const tools = this.tools();
    return `${GUEST_DECLARATIONS}\n${declarationsFor(tools, { detail: 'full', optionalMembers: true, spawn: this.#services.tasks !== undefined, everything: true })}`;
  }

  stats(): HarnessStats {
    const { runtime, compiler, checker } = this.#services;
    const checked = checker?.stats();
    return {
      sandbox: runtime.stats(),
      compiler: compiler.stats(),
      ...(checked === undefined ? {} : { checker: checked }),
    };
  }

  async warm(): Promise<void> {
    this.#assertOpen();
    const { runtime, compiler, checker } = this.#services;
    await Promise.all([runtime.warm(), compiler.warm(), checker?.warm()]);
  }

  close(): Promise<void> {
    this.#services.tasks?.close();
    this.#services.checker?.close();
    this.#closing ??= this.#end();
    return this.#closing;
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

  /** Where the payloads of a script or a call go: into envelopes for listeners, and to the host's own log. */
  #sink(run: Pick<RunOptions, 'onEvent' | 'sink'>, identity: RunIdentity, nextSeq = 0): PayloadSink {
    const stream = new EventStream(identity, [this.#options.onEvent, run.onEvent], nextSeq);
    return run.sink === undefined ? stream : bothSinks(stream, run.sink);
  }

  #resumeHost(run: ResumeOptions, identity: RunIdentity, nextSeq = 0): ResumeHost {
    const ceilings = this.#ceilings(run);
    return {
      approvals: run.approvals ?? this.#options.approvals,
      approvalExpiryMs: ceilings.approvalTimeoutMs,
      ceilings,
      app: run.app,
      signal: run.signal,
      identity,
      sink: this.#sink(run, identity, nextSeq),
      item: run.item,
      inAnswer: false,
    };
  }

  /** Limits for resumed scripts: those set explicitly, by the harness or for the resume. */
  #ceilings(run: ResumeOptions): Partial<LimitsInput> {
    const ceilings = { ...this.hostLimits, ...run.limits };
    resolveLimits(ceilings, undefined);
    return ceilings;
  }

  /** No script runs in another mode, whatever was suspended elsewhere; the script stays where it is. */
  #refusalToResume({ callId }: { callId?: string | undefined }): ScriptFailure | undefined {
    if (this.mode === 'disabled' && callId !== undefined) return undefined;
    // defence: modes-hold-for-resumed-scripts
    return this.mode === 'enabled' ? undefined : cannotResume(this.mode);
  }

  async #findResumable(target: string, decisions: Decisions, run: ResumeOptions): Promise<WaitingScript | RunEnd> {
    const waiting = await this.#findWaiting(target, decisions, run);
    if ('outcome' in waiting) return waiting;
    const refusal = this.#refusalToResume(waiting.suspension.frame);
    return refusal === undefined ? waiting : { outcome: failedOutcome(refusal) };
  }

  /** Finds the script to resume: by its sealed text, or by its id in the store. */
  async #findWaiting(target: string, decisions: Decisions, run: ResumeOptions): Promise<WaitingScript | RunEnd> {
    if (typeof target !== 'string')
      throw new ToolscriptUsageError('resume needs the suspension, or the id of a script in the store, as a string.');
    if (this.#services.keeping !== undefined && isScriptId(target))
      return this.#findWaitingScript(target, decisions, run, 'resume');
    const text = isScriptId(target) ? (this.#services.inProcess?.get(target) ?? target) : target;
    const suspension = openFor(this.#services, text, run.principal);
    if ('outcome' in suspension) return suspension;
    checkDecisions(decisions, suspension);
    return { suspension, text, force: run.force === true };
  }

  async #findWaitingScript(
    scriptId: string,
    decisions: Decisions,
    run: ResumeOptions,
    method: string,
  ): Promise<WaitingScript | RunEnd> {
    const found = await findRecoverable(this.#services, scriptId, run, method);
    if ('outcome' in found) return found;
    if ('recorded' in found) return waitsForNobody(scriptId);
    checkDecisions(decisions, found.suspension);
    return found;
  }

  #resumeAnswer(
    waiting: WaitingScript,
    decisions: Decisions,
    run: ResumeOptions,
    onOutcome: (outcome: Outcome) => void,
  ): AsyncGenerator<StreamEvent, void, undefined> {
    const { frame, nextSeq, answer, script } = waiting.suspension;
    const { principal } = script.start;
    const limits = resumedLimits(script.start, this.#ceilings(run));
    const again = { ...run, limits, ...(principal === undefined ? {} : { principal }) };
    const how = {
      identity: frame.identity,
      nextSeq,
      mode: 'enabled' as const,
      continueOnError: answer?.continueOnError ?? false,
    };
    const first: ResumeFirst = async (stream, signal, onClaimed) => {
      const host = { ...this.#resumeHost(run, frame.identity), sink: stream, signal, inAnswer: true };
      const end = await resumeScript(this.#services, waiting, decisions, host, onClaimed);
      onOutcome(end.outcome);
      return end;
    };
    return playRest(first, answer, this.#textRun(again, how));
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
        callTool: ({ name, input, callId }) => this.callTool(name, input, { ...run, signal, sink, callId }),
        detector: () => this.detector({ sourceDeltas }),
      }),
    };
  }

  /** The events of a run that ends at once because its suspension cannot be resumed. */
  *#refusalEvents(outcome: Outcome, run: RunOptions): Generator<StreamEvent, void, undefined> {
    const events: StreamEvent[] = [];
    const listeners = [(event: StreamEvent) => void events.push(event), this.#options.onEvent, run.onEvent];
    emitRefusal(outcome, new EventStream(this.#identity({}), listeners));
    yield* events;
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

function errorOf(outcome: Outcome): ScriptFailure {
  return outcome.status === 'failed' ? outcome.error : scriptFailure('SuspensionError', 'The script was resumed.');
}

function queueWait(options: HarnessOptions): Partial<LimitsInput> {
  const queueWaitMs = options.workers?.queueWaitMs;
  return queueWaitMs === undefined ? {} : { queueWaitMs };
}
