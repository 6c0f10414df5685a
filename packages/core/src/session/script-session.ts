import {
  ABORT_GRACE_MS,
  type CompiledScript,
  type Limits,
  type Operation,
  type Outcome,
  type OutcomeMetadata,
  type SandboxCall,
  type SandboxEnd,
  type SandboxRun,
  type SandboxRuntime,
  type SandboxSegment,
  type ScriptFailure,
  type Settlement,
} from '../protocol/index.js';
import type { CallResult, Facade, FacadeEvent, ToolCatalog } from '../tools/index.js';
import { answerCatalog } from './catalog-calls.js';
import { countCalls, finalOperations, roundMs, withoutRepairedReturn } from './final-operations.js';
import type { ScriptJournal } from './journal.js';
import { failureOf, type RejectedCall } from './outcome-failure.js';
import { sandboxLimits } from './sandbox-limits.js';
import { ScriptVoice } from './script-voice.js';
import type { SessionEvent } from './session-events.js';
import { detachedFailure, unhandledDiagnostics } from './unawaited.js';
import { WallClock } from './wall-clock.js';

export interface SessionOptions {
  scriptId: string;
  script: CompiledScript;
  cacheHit: boolean;
  runtime: SandboxRuntime;
  limits: Limits;
  /** Makes the script's way to its tools; called again where the script is run a second time. */
  makeFacade(hooks: SessionFacadeHooks): Facade;
  catalog: ToolCatalog;
  /** Names as the script writes them. */
  toolNames: readonly string[];
  spawn: boolean;
  /** What the script reads as `context`. */
  contextJson: string;
  principal: string | undefined;
  seed: readonly [number, number, number, number];
  journal: ScriptJournal;
  signal: AbortSignal | undefined;
  onEvent(event: SessionEvent): void;
}

interface SessionFacadeHooks {
  /** Milliseconds since the script's start. */
  nowMs(): number;
  onEvent(event: FacadeEvent): void;
}

/**
 * One script's life, from its place in the queue to its outcome.
 *
 * waiting ─onStart→ segment ⇄ standing ─end→ finishing → done. In `segment` the guest runs and nothing may be
 * delivered to it; in `standing` it waits for settlements, which are collected and delivered together. The
 * wall clock runs in both, except while approvals are all that is pending. A cancellation or a clock that has
 * run out asks the runtime to end the run; the last segment then says so.
 */
export async function runScriptSession(options: SessionOptions): Promise<Outcome> {
  const first = new ScriptSession(options, 1);
  const outcome = await first.run();
  const internal = outcome.status === 'failed' && outcome.error.code === 'HarnessInternalError';
  if (!internal || !first.onlyReadsStarted() || options.signal?.aborted === true) return outcome;
  return new ScriptSession(options, 2).run();
}

type SessionState = 'waiting' | 'segment' | 'standing' | 'finishing' | 'done';

class ScriptSession {
  readonly #options: SessionOptions;
  readonly #callPrefix: string;
  readonly #facade: Facade;
  readonly #voice: ScriptVoice;
  readonly #clock: WallClock;
  readonly #rejected = new Map<number, RejectedCall>();
  readonly #openCalls = new Set<Promise<unknown>>();
  /** Detached calls, and whether they have ended. */
  readonly #detachedCalls = new Map<string, boolean>();
  readonly #timers = new Map<number, NodeJS.Timeout>();
  readonly #startedAt = performance.now();
  #state: SessionState = 'waiting';
  #run: SandboxRun | undefined;
  #ready: Settlement[] = [];
  #delivering = false;
  #isTimed = false;
  #sourceLines: readonly string[] | undefined;
  #guestClockMs = Date.now();
  #computeMs = 0;
  #memoryBytes = 0;
  #compilationCacheHit = true;
  #resolve: (outcome: Outcome) => void = () => {};
  readonly #onAbort = () => this.#run?.cancel('cancelled');

  /** `attempt`: 1, or 2 where Toolscript itself had failed the first time; its calls have names of their own. */
  constructor(options: SessionOptions, attempt: number) {
    this.#options = options;
    this.#callPrefix = attempt === 1 ? `${options.scriptId}_call` : `${options.scriptId}_again`;
    const nowMs = () => performance.now() - this.#startedAt;
    this.#voice = new ScriptVoice(options.limits, nowMs);
    this.#clock = new WallClock(options.limits.timeoutMs, () => this.#run?.cancel('timeout'));
    this.#facade = options.makeFacade({ nowMs, onEvent: (event) => this.#onFacadeEvent(event) });
  }

  run(): Promise<Outcome> {
    const options = this.#options;
    return new Promise((resolve) => {
      this.#resolve = resolve;
      if (options.signal?.aborted === true) {
        void this.#finish({ type: 'cancelled', reason: 'cancelled' });
        return;
      }
      options.signal?.addEventListener('abort', this.#onAbort, { once: true });
      const { script, limits } = options;
      options.journal.started({
        scriptId: options.scriptId,
        sha256: script.sha256,
        seed: options.seed,
        clockMs: this.#guestClockMs,
      });
      this.#run = options.runtime.run(
        {
          runId: options.scriptId,
          sha256: script.sha256,
          javascript: script.javascript,
          toolNames: options.toolNames,
          contextJson: options.contextJson,
          spawn: options.spawn,
          seed: options.seed,
          clockMs: this.#guestClockMs,
          wallMs: limits.timeoutMs,
          principal: options.principal,
          limits: sandboxLimits(limits),
        },
        { onStart: () => this.#onStart(), onSegment: (segment) => this.#onSegment(segment) },
      );
    });
  }

  onlyReadsStarted(): boolean {
    return this.#facade.operations().every(({ effect, status }) => effect === 'read' || status === 'not_started');
  }

  /** The clock starts with the first segment's report: until then the worker may be busy with others. */
  #onStart(): void {
    this.#state = 'segment';
  }

  #onSegment(segment: SandboxSegment): void {
    if (this.#state === 'finishing' || this.#state === 'done') return;
    this.#state = 'standing';
    if (!this.#isTimed) {
      this.#isTimed = true;
      this.#clock.charge(segment.computeMs);
      // Many scripts end in their first segment and need no timer.
      if (segment.end === undefined) this.#clock.run();
    }
    this.#note(segment);
    // Those of the last segment were made too, though nobody waits for them any more.
    for (const call of segment.calls) this.#startCall(call);
    if (segment.end !== undefined) {
      void this.#finish(segment.end);
      return;
    }
    for (const callIndex of segment.unobservable) this.#abandon(callIndex);
    this.#updateClock();
    this.#deliver();
  }

  #note(segment: SandboxSegment): void {
    this.#computeMs += segment.computeMs;
    this.#memoryBytes = Math.max(this.#memoryBytes, segment.memoryBytes);
    this.#compilationCacheHit &&= segment.compilationCacheHit;
    this.#voice.output += segment.output;
    this.#voice.dropped(segment.dropped.logs, segment.dropped.progress);
    for (const { level, text } of segment.logs) {
      const entry = this.#voice.log(level, text);
      if (entry !== undefined) this.#options.onEvent({ type: 'log', entry });
    }
    for (const { message, kind } of segment.progress) {
      if (this.#voice.mayProgress()) this.#options.onEvent({ type: 'progress', message, kind });
    }
  }

  #onFacadeEvent(event: FacadeEvent): void {
    if (event.type === 'waiting_changed') this.#updateClock();
    else if (event.type !== 'progress') this.#options.onEvent(event);
    else if (this.#voice.mayProgress())
      this.#options.onEvent({ type: 'progress', message: event.message, kind: 'info', callId: event.callId });
  }

  #startCall(call: SandboxCall): void {
    if (call.argsProblem !== undefined && call.name.startsWith('$')) {
      return this.#settle(call, {
        ok: false,
        error: { code: 'ToolValidationError', message: `The arguments are wrong: ${call.argsProblem}.` },
      });
    }
    switch (call.name) {
      case '$sleep':
        return this.#sleep(call);
      case '$catalog':
        return this.#settle(call, answerCatalog(this.#options.catalog, call.argsJson));
      case '$spawn':
      case '$cancel':
        return this.#detach(call);
      default:
        this.#callTool(call, call.name, call.argsJson, false);
    }
  }

  #callTool(call: SandboxCall, tool: string, argsJson: string, detached: boolean): void {
    const { script } = this.#options;
    const position = script.originalPosition(call.line, call.column);
    const callId = this.#callId(call.callIndex);
    const snippet = position === undefined ? undefined : this.#sourceLine(position.line);
    const pending = this.#facade.call({
      callId,
      callIndex: call.callIndex,
      tool,
      argsJson,
      argsProblem: call.argsProblem,
      line: position?.line,
      snippet,
      detached,
    });
    this.#openCalls.add(pending);
    if (detached) this.#detachedCalls.set(callId, false);
    void pending.then((result) => {
      this.#openCalls.delete(pending);
      if (detached) this.#detachedCalls.set(callId, true);
      if (!result.ok)
        this.#rejected.set(call.callIndex, {
          code: result.error.code as RejectedCall['code'],
          message: result.error.message,
          toolName: tool,
          callId,
          position,
        });
      this.#settle(call, result);
    });
  }

  #sourceLine(line: number): string | undefined {
    this.#sourceLines ??= this.#options.script.source.split(/\r\n|\n|\r/u);
    return this.#sourceLines[line - 1]?.trim();
  }

  #sleep(call: SandboxCall): void {
    const { ms } = JSON.parse(call.argsJson) as { ms: number };
    this.#timers.set(
      call.callIndex,
      setTimeout(() => {
        this.#timers.delete(call.callIndex);
        this.#settle(call, { ok: true, json: '' });
      }, ms),
    );
  }

  #detach(call: SandboxCall): void {
    const args = JSON.parse(call.argsJson === '' ? '{}' : call.argsJson) as {
      name?: string;
      args?: unknown;
      id?: string;
    };
    if (call.name === '$spawn') {
      this.#callTool(call, args.name ?? '', JSON.stringify(args.args === undefined ? {} : args.args), true);
      return;
    }
    const callId = this.#callId(Number(/^task_(\d+)$/u.exec(args.id ?? '')?.[1] ?? -1));
    const running = this.#detachedCalls.get(callId) === false;
    if (running) this.#facade.abort(callId, 'the script cancelled it');
    this.#settle(call, { ok: true, json: String(running) });
  }

  #callId(callIndex: number): string {
    return `${this.#callPrefix}_${callIndex}`;
  }

  /** A call that lost its race, and that nothing in the script can observe any more. */
  #abandon(callIndex: number): void {
    const timer = this.#timers.get(callIndex);
    if (timer === undefined) this.#facade.abort(this.#callId(callIndex), 'it lost its race');
    else {
      clearTimeout(timer);
      this.#timers.delete(callIndex);
      this.#settle({ callIndex }, { ok: true, json: '' });
    }
  }

  #settle(call: { callIndex: number }, result: CallResult): void {
    if (this.#state === 'finishing' || this.#state === 'done') return;
    this.#ready.push({ callIndex: call.callIndex, ...result });
    if (this.#delivering) return;
    this.#delivering = true;
    // Everything that settles in this tick goes in one batch.
    queueMicrotask(() => {
      this.#delivering = false;
      this.#deliver();
    });
  }

  #deliver(): void {
    if (this.#state !== 'standing' || this.#ready.length === 0 || this.#delivering) return;
    const batch = this.#ready;
    this.#ready = [];
    this.#guestClockMs = Math.max(this.#guestClockMs, Date.now());
    this.#options.journal.settled(batch, this.#guestClockMs);
    this.#state = 'segment';
    this.#updateClock();
    this.#run?.settle(batch, this.#guestClockMs, this.#clock.remainingMs());
  }

  #updateClock(): void {
    if (!this.#isTimed || (this.#state !== 'standing' && this.#state !== 'segment')) return;
    const { executing, queued, awaitingApproval } = this.#facade.pending();
    const waitsForPeopleOnly =
      this.#state === 'standing' &&
      awaitingApproval > 0 &&
      executing === 0 &&
      queued === 0 &&
      this.#timers.size === 0 &&
      this.#ready.length === 0;
    if (waitsForPeopleOnly) this.#clock.pause();
    else this.#clock.run();
  }

  async #finish(end: SandboxEnd): Promise<void> {
    try {
      await this.#end(withoutRepairedReturn(end, this.#options.script));
    } catch (error) {
      this.#options.onEvent({
        type: 'internal',
        detail: error instanceof Error ? (error.stack ?? error.message) : String(error),
      });
      this.#resolve(this.#outcome({ type: 'internal', detail: '' }, [], performance.now() - this.#startedAt));
    }
  }

  async #end(end: SandboxEnd): Promise<void> {
    this.#state = 'finishing';
    this.#options.signal?.removeEventListener('abort', this.#onAbort);
    this.#clock.stop();
    const durationMs = performance.now() - this.#startedAt;
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
    const stillRunning = this.#facade.isQuiet ? [] : await this.#endCalls(end);
    this.#resolve(this.#outcome(end, stillRunning, durationMs));
    this.#state = 'done';
  }

  /** The operations that went on all the same. */
  async #endCalls(end: SandboxEnd): Promise<readonly Operation[]> {
    const { limits } = this.#options;
    if (end.type === 'returned' && limits.allowDetachedPromises) await this.#callsSettled(this.#clock.remainingMs());
    const { stillRunning } = await this.#facade.abortAll(
      end.type === 'returned' ? 'the script ended without awaiting it' : 'the script ended',
      ABORT_GRACE_MS,
    );
    return stillRunning;
  }

  async #callsSettled(withinMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const expired = new Promise((resolve) => (timer = setTimeout(resolve, withinMs)));
    await Promise.race([Promise.all(this.#openCalls), expired]);
    clearTimeout(timer);
  }

  #outcome(end: SandboxEnd, stillRunning: readonly Operation[], durationMs: number): Outcome {
    const closing = this.#voice.closingEntry();
    if (closing !== undefined) this.#voice.logs.push(closing);
    const { script, scriptId } = this.#options;
    const operations = finalOperations(this.#facade.operations(), end, this.#detachedCalls);
    const error = this.#failure(end, stillRunning, operations, durationMs);
    const json = end.type === 'returned' ? end.json : undefined;
    const came =
      error === undefined
        ? { status: 'completed' as const, value: json === undefined ? undefined : JSON.parse(json) }
        : { status: 'failed' as const, error };
    return {
      ...came,
      scriptId,
      output: this.#voice.output,
      logs: this.#voice.logs,
      operations,
      diagnostics: [...script.diagnostics, ...unhandledDiagnostics(end, script), ...this.#droppedProgress()],
      plan: [...script.plan],
      metadata: this.#metadata(durationMs),
    };
  }

  #failure(
    end: SandboxEnd,
    stillRunning: readonly Operation[],
    operations: readonly Operation[],
    durationMs: number,
  ): ScriptFailure | undefined {
    if (end.type === 'returned') return detachedFailure(stillRunning);
    const facts = { elapsedMs: Math.round(durationMs), ...countCalls(operations) };
    if (end.type === 'internal') this.#options.onEvent({ type: 'internal', detail: end.detail });
    return failureOf(end, {
      script: this.#options.script,
      limits: this.#options.limits,
      rejectedCall: (index) => this.#rejected.get(index),
      facts,
    });
  }

  #droppedProgress() {
    const dropped = this.#voice.droppedProgress();
    if (dropped === 0) return [];
    return [
      {
        severity: 'info' as const,
        code: 'progress-dropped',
        message: `${dropped} progress events were dropped; at most ${this.#options.limits.maxProgressEvents} are sent, two a second.`,
      },
    ];
  }

  #metadata(durationMs: number): OutcomeMetadata {
    return {
      durationMs: roundMs(durationMs),
      computeMs: roundMs(this.#computeMs),
      approvalWaitMs: Math.round(this.#clock.pausedMs()),
      toolCallsMade: this.#facade.callsMade(),
      memoryUsedMb: roundMs(this.#memoryBytes / 1_048_576),
      cacheHit: this.#options.cacheHit,
      compilationCacheHit: this.#compilationCacheHit,
      runtime: this.#options.runtime.name,
    };
  }
}
