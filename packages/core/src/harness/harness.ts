import { hostname } from 'node:os';
import { createGate } from '../approvals/index.js';
import {
  isScriptId,
  scriptFailure,
  ToolscriptUsageError,
  type HarnessMode,
  type KnownArgument,
  type Limits,
  type LimitsInput,
  type Operation,
  type Outcome,
  type ScriptFailure,
  type StreamEvent,
  type Tool,
} from '../protocol/index.js';
import { QuickJsPool } from '../sandbox/index.js';
import { createCompiler, createDetector, type Detector, type DetectorOptions } from '../script/index.js';
import {
  createCatalog,
  createObservedShapes,
  createRegistry,
  declarationsFor,
  isObjectResult,
  judgeKnown,
  signatureOf,
  GUEST_DECLARATIONS,
  resolveExposure,
} from '../tools/index.js';
import { Audit } from './audit.js';
import { makeRunScriptTool, type RunScriptTool } from './as-tool.js';
import { DetachedTasks } from './detached-tasks.js';
import { EventStream, newId, type RunIdentity } from './event-stream.js';
import { inspectScript, type KeptScriptDetails } from './kept-scripts.js';
import { Leases } from './leases.js';
import { LazyChecker } from './lazy-checker.js';
import { ContextWriter } from './script-context.js';
import { writeInstructions } from './instructions.js';
import { checkHarnessOptions, checkRunOptions, resolveLimits, type HarnessOptions } from './options.js';
import {
  assertAnswerText,
  processAnswer,
  processRest,
  tellRefusal,
  type AnswerBlock,
  type AnswerOptions,
  type AnswerText,
} from './process-text.js';
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
} from './resumption.js';
import {
  cannotResume,
  disabledFailure,
  failedOutcome,
  reportSkipped,
  reportUnrunnable,
  runRequest,
  type RunEnd,
} from './script-runner.js';
import type { ScriptItemMembers, ScriptText } from './script-items.js';
import type { RunnerParts } from './script-run.js';
import type { Keeping } from './store-journal.js';
import { SuspensionSeal, type SuspensionKey } from './suspension-envelope.js';
import { WorkPlans } from './work-plans.js';
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
import { callOnce } from './structured-call.js';

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
    this.#limits = resolveLimits(this.hostLimits, undefined);
    const registry = createRegistry(options.tools);
    const exposed = resolveExposure(options.expose ?? {}, registry, options.packs as never);
    const { queueWaitMs: _queueWaitMs, ...workers } = options.workers ?? {};
    const makeGate: RunnerParts['makeGate'] = (approvals, limits, more) =>
      createGate(approvals, { approvalTimeoutMs: limits.approvalTimeoutMs, ...more });
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
      tasks: options.expose?.spawn === true ? new DetachedTasks() : undefined,
      observed,
      catalog: createCatalog(
        registry.tools.filter(({ name }) => exposed.has(name)),
        observed,
      ),
      makeGate,
      keeping: keepingOf(options),
      images: async (name) => options.store?.images.get(name),
      keepingImages: new Map(),
      workPlans: new WorkPlans(),
      isClosing: () => this.#closing !== undefined,
      seal: new SuspensionSeal(keysOf(options.suspensionKey)),
      suspendAfterMs: options.suspendAfterMs,
      audit: options.audit === undefined ? undefined : new Audit(options.audit, (detail) => this.#auditFailed(detail)),
      onInternalError: options.onInternalError,
    };
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
    const { limits, approvals, approvalExpiryMs, app, principal, context, signal } = this.#shared(run);
    const stream = this.#stream(run, this.#identity(run));
    const language = run.language ?? 'ts';
    const { refusal } = run;
    const named = namedItem(run.item);
    if (refusal !== undefined)
      return reportUnrunnable({ source, language, format: 'tool', ...named, stream, limits }, refusal);
    const { outcome } = await runRequest(this.#parts, {
      source,
      language,
      format: run.item?.format ?? 'tool',
      ...named,
      mode,
      limits,
      approvals,
      approvalExpiryMs,
      app,
      principal,
      context,
      signal,
      stream,
      inAnswer: false,
    });
    return outcome;
  }

  processText(text: AnswerText, run: ProcessTextOptions = {}): AsyncGenerator<StreamEvent, void, undefined> {
    this.#assertOpen();
    assertAnswerText(text);
    checkRunOptions(run, 'processText');
    const mode = run.mode ?? this.mode;
    const identity = this.#identity(run);
    const { continueOnError = false, scriptSourceDeltas = false } = run;
    return processAnswer(text, this.#answerOptions(run, { identity, mode, continueOnError, scriptSourceDeltas }));
  }

  async resume(target: string, decisions: Decisions = {}, run: ResumeOptions = {}): Promise<Outcome> {
    this.#assertOpen();
    checkRunOptions(run, 'resume');
    const refusal = this.#refusalToResume();
    if (refusal !== undefined) return failedOutcome(refusal);
    const waiting = await this.#findWaiting(target, decisions, run);
    return 'outcome' in waiting ? waiting.outcome : this.#resumeOpened(waiting, decisions, run);
  }

  async #resumeOpened(waiting: WaitingScript, decisions: Decisions, run: ResumeOptions): Promise<Outcome> {
    const { frame, nextSeq, answer } = waiting.suspension;
    if (answer === undefined) {
      const stream = this.#stream(run, frame.identity, nextSeq);
      return (await resumeScript(this.#parts, waiting, decisions, this.#host(run, stream))).outcome;
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
    const refusal = this.#refusalToResume();
    const waiting =
      refusal === undefined ? await this.#findWaiting(target, decisions, run) : { outcome: failedOutcome(refusal) };
    if ('outcome' in waiting) yield* refusalEvents(waiting.outcome, this.#stream(run, this.#identity({})));
    else yield* this.#resumeAnswer(waiting, decisions, run, () => {});
  }

  async decide(scriptId: string, decisions: Decisions, run: Pick<ResumeOptions, 'principal'> = {}): Promise<Decided> {
    this.#assertOpen();
    checkRunOptions(run, 'decide');
    const waiting = await this.#findWaitingScript(scriptId, decisions, run, 'decide');
    if ('outcome' in waiting) return { ok: false, error: errorOf(waiting.outcome) };
    const decided = await decideScript(this.#parts, waiting, decisions);
    return 'outcome' in decided ? { ok: false, error: errorOf(decided.outcome) } : { ok: true, ...decided };
  }

  async recover(scriptId: string, run: ResumeOptions = {}): Promise<Outcome> {
    this.#assertOpen();
    checkRunOptions(run, 'recover');
    const refusal = this.#refusalToResume();
    if (refusal !== undefined) return failedOutcome(refusal, scriptId);
    let found: Recoverable | RunEnd = await findRecoverable(this.#parts, scriptId, run);
    if ('story' in found) {
      const host = this.#host(run, this.#stream(run, this.#identity({})));
      found = await recoverScript(this.#parts, scriptId, host, run);
    }
    return 'outcome' in found ? found.outcome : this.#resumeOpened(found, {}, run);
  }

  async inspect(
    scriptId: string,
    { principal }: Pick<ResumeOptions, 'principal'> = {},
  ): Promise<KeptScriptDetails | undefined> {
    const details = await inspectScript(this.#parts, scriptId);
    // defence: inspect-asks-for-the-principal
    return details !== undefined && details.principal !== principal ? undefined : details;
  }

  async replay(scriptId: string, run: Pick<ResumeOptions, 'signal' | 'onEvent' | 'principal'> = {}): Promise<Outcome> {
    this.#assertOpen();
    checkRunOptions(run, 'replay');
    const host = this.#host({ ...run, approvals: 'deny' }, this.#stream(run, this.#identity({})));
    return (await replayScript(this.#parts, scriptId, { ...host, ceilings: {} }, run.principal)).outcome;
  }

  async callTool(name: string, input: unknown, run: CallToolOptions = {}): Promise<Operation> {
    this.#assertOpen();
    checkRunOptions(run, 'callTool');
    if (typeof name !== 'string') throw new ToolscriptUsageError('callTool needs the name of a tool.');
    const stream = this.#stream(run, this.#identity({}));
    const { limits, approvals, app, principal, signal } = this.#shared(run);
    const callId = run.callId ?? newId('call');
    const isDryRun = this.mode === 'dry-run';
    return callOnce(this.#parts, { callId, name, input, limits, approvals, app, principal, signal, stream, isDryRun });
  }

  tools(): readonly Tool[] {
    return this.#parts.registry.tools.filter(({ name }) => this.#parts.exposed.has(name));
  }

  asTool({ onOutcome, ...run }: AsToolOptions = {}): RunScriptTool {
    checkRunOptions(run, 'asTool');
    const { modelOutputTokens } = this.#shared(run).limits;
    // A suspension that nobody gets hold of would be a promise to the model that nobody keeps.
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
      spawn: this.#parts.tasks !== undefined,
      tokenBudget,
    });
    this.#instructions = { key, text };
    return text;
  }

  declarations(): string {
    const tools = this.tools();
    return `${GUEST_DECLARATIONS}\n${declarationsFor(tools, { detail: 'full', optionalMembers: true, spawn: this.#parts.tasks !== undefined, everything: true })}`;
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
    this.#parts.tasks?.close();
    this.#parts.checker?.close();
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #end(): Promise<void> {
    await Promise.all([this.#parts.runtime.close(), this.#parts.compiler.close()]);
    await this.#parts.keeping?.leases.close();
  }

  #checkerOptions(mode: 'error' | 'warn') {
    const { registry, exposed, toolNames } = this.#parts;
    const exposedTool = (name: string) => {
      const tool = registry.get(name);
      return tool !== undefined && exposed.has(tool.name) ? tool : undefined;
    };
    return {
      tools: this.tools(),
      mode,
      declarations: this.declarations(),
      toolNames,
      signatureOf: (name: string) => {
        const tool = registry.get(name);
        return tool === undefined ? undefined : signatureOf(tool);
      },
      judgeArgument: (name: string, known: KnownArgument) => {
        const tool = exposedTool(name);
        return tool === undefined ? undefined : judgeKnown(tool, known);
      },
      isObject: (name: string, path: readonly string[]) => {
        const tool = exposedTool(name);
        return tool !== undefined && isObjectResult(tool, path);
      },
    };
  }

  #limitsWith(changes: Partial<LimitsInput> | undefined): Limits {
    return changes === undefined ? this.#limits : resolveLimits(this.#limits, changes);
  }

  #shared(run: RunOptions) {
    return {
      limits: this.#limitsWith(run.limits),
      approvals: run.approvals ?? this.#options.approvals,
      approvalExpiryMs: run.limits?.approvalTimeoutMs ?? this.#options.limits?.approvalTimeoutMs,
      app: run.app,
      principal: run.principal,
      context: run.context ?? {},
      signal: run.signal,
    };
  }

  #stream(run: Pick<RunOptions, 'onEvent'>, identity: RunIdentity, nextSeq = 0): EventStream {
    return new EventStream(identity, [this.#options.onEvent, run.onEvent], nextSeq);
  }

  #host(run: ResumeOptions, stream: EventStream): ResumeHost {
    const ceilings = this.#ceilings(run);
    return {
      approvals: run.approvals ?? this.#options.approvals,
      approvalExpiryMs: ceilings.approvalTimeoutMs,
      ceilings,
      app: run.app,
      signal: run.signal,
      stream,
      inAnswer: false,
    };
  }

  /** Of scripts that were started under other limits: those that somebody has set, here or for the resume. */
  #ceilings(run: ResumeOptions): Partial<LimitsInput> {
    const ceilings = { ...this.hostLimits, ...run.limits };
    resolveLimits(ceilings, undefined);
    return ceilings;
  }

  /** Nothing runs in this mode, whatever was suspended elsewhere; the script stays where it is. */
  #refusalToResume(): ScriptFailure | undefined {
    // defence: modes-hold-for-resumed-scripts
    return this.mode === 'enabled' ? undefined : cannotResume(this.mode);
  }

  /** What `resume` goes on with: by its sealed text, or by its id in the store. */
  async #findWaiting(target: string, decisions: Decisions, run: ResumeOptions): Promise<WaitingScript | RunEnd> {
    if (typeof target !== 'string')
      throw new ToolscriptUsageError('resume needs the suspension, or the id of a script in the store, as a string.');
    if (this.#parts.keeping !== undefined && isScriptId(target))
      return this.#findWaitingScript(target, decisions, run, 'resume');
    const suspension = openFor(this.#parts, target, run.principal);
    if ('outcome' in suspension) return suspension;
    checkDecisions(decisions, suspension);
    return { suspension, text: target, force: run.force === true };
  }

  async #findWaitingScript(
    scriptId: string,
    decisions: Decisions,
    run: ResumeOptions,
    method: string,
  ): Promise<WaitingScript | RunEnd> {
    const found = await findRecoverable(this.#parts, scriptId, run, method);
    if ('outcome' in found) return found;
    if ('story' in found) return waitsForNobody(scriptId);
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
      failedBefore: answer?.failed ?? false,
    };
    const first = async (stream: EventStream, signal: AbortSignal, onTaken: () => void) => {
      const end = await resumeScript(
        this.#parts,
        waiting,
        decisions,
        { ...this.#host(run, stream), signal, inAnswer: true },
        onTaken,
      );
      onOutcome(end.outcome);
      return end;
    };
    return processRest(first, answer?.segments ?? [], this.#answerOptions(again, how));
  }

  #answerOptions(
    run: RunOptions,
    how: Pick<
      AnswerOptions,
      'identity' | 'mode' | 'continueOnError' | 'scriptSourceDeltas' | 'nextSeq' | 'failedBefore'
    >,
  ): AnswerOptions {
    const shared = this.#shared(run);
    const listeners = [this.#options.onEvent, run.onEvent].filter((listener) => listener !== undefined);
    return {
      ...how,
      detect: this.#options.detect ?? {},
      signal: run.signal,
      onEvent: (event) => {
        for (const listener of listeners) listener(event);
      },
      runScript: (block, stream, signal) =>
        runRequest(this.#parts, { ...shared, ...textOf(block), mode: how.mode, stream, signal, inAnswer: true }),
      reportMalformed: (block, failure, stream) =>
        reportUnrunnable({ ...textOf(block), stream, limits: shared.limits }, failure),
      reportSkipped: (block, stream) => reportSkipped({ ...textOf(block), stream }),
    };
  }

  #auditFailed(detail: string): void {
    this.#options.onInternalError?.(detail, { scriptId: '' });
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

/** A suspension that cannot be resumed, as the events of an answer that ends at once. */
async function* refusalEvents(outcome: Outcome, stream: EventStream): AsyncGenerator<StreamEvent, void, undefined> {
  const events: StreamEvent[] = [];
  tellRefusal(outcome, new EventStream(stream.identity, [(event) => events.push(event)]));
  for (const event of events) {
    stream.emit(event.payload);
    yield event;
  }
}

const DEFAULT_LEASE_MS = 30_000;

function keepingOf({ store, leaseMs = DEFAULT_LEASE_MS, durability = 'process' }: HarnessOptions): Keeping | undefined {
  if (store === undefined) return undefined;
  return { leases: new Leases(store, { owner: `${hostname()} ${process.pid}`, leaseMs }), durability };
}

function errorOf(outcome: Outcome): ScriptFailure {
  return outcome.status === 'failed' ? outcome.error : scriptFailure('SuspensionError', 'The script went on.');
}

function keysOf(key: HarnessOptions['suspensionKey']): readonly SuspensionKey[] | (() => readonly SuspensionKey[]) {
  if (key === undefined) return [];
  if (typeof key === 'function') return () => [key()];
  return isList(key) ? key : [key];
}

function isList(key: SuspensionKey | readonly SuspensionKey[]): key is readonly SuspensionKey[] {
  return Array.isArray(key);
}

function textOf({ source, language, format, startedAs }: AnswerBlock): ScriptText {
  return { source, language, format, startedAs };
}

/** The item's members, and the name under which the host has started it. */
function namedItem(item: ScriptItemMembers | undefined): Pick<ScriptText, 'item' | 'startedAs'> {
  if (item?.isStarted === undefined) return { item };
  const { isStarted, ...members } = item;
  return { item: members, startedAs: isStarted ? members.id : undefined };
}

function queueWait(options: HarnessOptions): Partial<LimitsInput> {
  const queueWaitMs = options.workers?.queueWaitMs;
  return queueWaitMs === undefined ? {} : { queueWaitMs };
}
