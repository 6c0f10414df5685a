import {
  ABORT_GRACE_MS,
  RunInterruption,
  StaleEpochError,
  type Diagnostic,
  type Operation,
  type OutcomeMetadata,
  type SandboxCall,
  type SandboxEnd,
  type SandboxJob,
  type SandboxRun,
  type SandboxSegment,
  type Settlement,
  type SourcePosition,
} from '../protocol/index.js';
import type { CallResult, Facade, FacadeEvent } from '../tools/index.js';
import type { SessionEnd, SessionOptions } from './session-options.js';
import { abortReasonAt, withoutRepairedReturn, endedOutcome, type EndedOutcome } from './session-outcome.js';
import { CallJournal, callIndexOf, SettlementQueue, Replay, ScriptTape } from './journal.js';
import { CallNotes, ScriptOutput } from './script-output.js';
import { EarlierCalls } from './earlier-calls.js';
import { GuestClock, SessionUsage, SuspensionPlan } from './session-clocks.js';
import { countBuiltinCalls, isSameForTheGuest, sandboxJob, scriptStart } from './sandbox-job.js';
import type { ResumeState } from './resume-state.js';
import { ScriptCalls, startInTurns } from './script-calls.js';
import { suspendedEnd } from './suspended-end.js';
import { nextState, type SessionState, type StateEvent } from './session-state.js';

/**
 * Runs a script. Runs the script again if Toolscript or its store failed and only reads had started. A resumed script
 * is not run again.
 */
export async function runScriptSession(options: SessionOptions): Promise<SessionEnd> {
  const first = new ScriptSession(options, options.earlier?.attempt ?? 1);
  const outcome = await first.run();
  const isOurs = outcome.status === 'failed' && OUR_FAILURES.has(outcome.error.code);
  // defence: only-reads-are-repeated, without it: const mayRepeat = isOurs && options.earlier === undefined;
  const mayRepeat = isOurs && options.earlier === undefined && first.onlyReadsStarted();
  if (!mayRepeat || options.signal?.aborted === true) return outcome;
  const second = new ScriptSession(options, 2);
  return repeatable(await second.run(), second);
}

/** Codes of failures that Toolscript or its store caused, and not the script. */
const OUR_FAILURES: ReadonlySet<string> = new Set(['HarnessInternalError', 'StoreError']);

/** Marks a failure as retryable if the store interrupted the script before the script had any effect. */
function repeatable(end: SessionEnd, session: ScriptSession): SessionEnd {
  const isNothingDone = end.status === 'failed' && end.error.code === 'StoreError' && session.onlyReadsStarted();
  return isNothingDone ? { ...end, error: { ...end.error, retryable: true } } : end;
}

/**
 * Runs one script, from the wait for a sandbox to the outcome. `session-state.ts` has the states of a session.
 *
 * The wall clock runs while the guest or its calls run, and pauses while only approvals are pending. After a
 * cancellation or the end of a clock, the runtime ends the run; the last segment then contains the reason.
 *
 * A script that was suspended or interrupted starts from its `ResumeState`: its memory is restored, or it is replayed
 * along its tape. The session then resumes the calls that the script waited for.
 */
class ScriptSession {
  readonly #options: SessionOptions;
  readonly #attempt: number;
  readonly #callPrefix: string;
  /** The reason why a write to the journal failed; undefined if no write failed. */
  #unwritten: 'failed' | 'taken' | undefined;
  readonly #facade: Facade;
  readonly #output: ScriptOutput;
  readonly #tape: ScriptTape;
  readonly #calls: ScriptCalls;
  readonly #earlierCalls: EarlierCalls | undefined;
  readonly #journal: CallJournal;
  readonly #notes: CallNotes;
  readonly #usage: SessionUsage;
  readonly #guestClock: GuestClock;
  readonly #suspension: SuspensionPlan;
  readonly #ready: SettlementQueue;
  readonly #job: SandboxJob;
  #state: SessionState = 'waiting';
  #run: SandboxRun | undefined;
  #replay: Replay | undefined;
  #delivering = false;
  #isTimed = false;
  #valueWarning: Diagnostic | undefined;
  /** The positions of the timers that were pending at the script's end. */
  #pendingTimers: readonly (SourcePosition | undefined)[] = [];
  #resolve: (end: SessionEnd) => void = () => {};
  readonly #onAbort = () => {
    if (this.#options.signal?.reason instanceof RunInterruption) this.#options.journal.leave();
    this.#run?.cancel('cancelled');
  };

  /**
   * `attempt`: 1, or 2 if Toolscript or its store failed at the first attempt. The calls of the two attempts have
   * different ids.
   */
  constructor(options: SessionOptions, attempt: number) {
    const { scriptId, limits, earlier, journal } = options;
    this.#options = options;
    this.#attempt = attempt;
    this.#callPrefix = attempt === 1 ? `${scriptId}_call` : `${scriptId}_again`;
    this.#usage = new SessionUsage(options, () => this.#run?.cancel('timeout'));
    const nowMs = () => this.#usage.nowMs();
    this.#output = new ScriptOutput(limits, nowMs, earlier?.output);
    this.#tape = new ScriptTape(earlier?.tape);
    this.#journal = new CallJournal(journal, this.#tape, (error) => this.#onJournalFailure(error));
    this.#notes = new CallNotes(options.script.diagnostics, earlier?.notes);
    this.#ready = new SettlementQueue(earlier?.ready);
    this.#guestClock = new GuestClock(earlier?.spent?.guestClockMs ?? options.clockMs);
    this.#suspension = new SuspensionPlan(options.suspendAfterMs, () => void this.#suspend());
    this.#job = sandboxJob(options);
    const { clockMs, tasks } = options;
    this.#earlierCalls = earlier === undefined ? undefined : new EarlierCalls(earlier, { scriptId, clockMs, tasks });
    this.#facade = options.makeFacade({
      nowMs,
      onEvent: (event) => this.#onFacadeEvent(event),
      earlier: this.#earlierCalls,
      onIntent: journal.isStored ? (intent) => this.#journal.intended(intent) : undefined,
    });
    this.#calls = new ScriptCalls({
      scriptId,
      script: options.script,
      catalog: options.catalog,
      tasks: options.tasks,
      earlier: this.#earlierCalls,
      rejectedBefore: earlier?.rejected ?? [],
      facade: this.#facade,
      callPrefix: this.#callPrefix,
      settle: (call, result) => this.#settle(call, result),
    });
  }

  run(): Promise<SessionEnd> {
    const { signal, earlier, journal, runtime } = this.#options;
    return new Promise((resolve) => {
      this.#resolve = resolve;
      if (signal?.aborted === true) {
        this.#onAbort();
        void this.#finish({ type: 'cancelled', reason: 'cancelled' });
        return;
      }
      signal?.addEventListener('abort', this.#onAbort, { once: true });
      journal.whenLost((error) => this.#onJournalFailure(error));
      if (earlier === undefined && journal.isStored) journal.started(scriptStart(this.#options, this.#attempt));
      if (earlier?.capture === undefined || runtime.restore === undefined || !this.#isGuestOfItsLimits(earlier))
        this.#begin();
      else this.#run = runtime.restore(earlier.capture, this.#job, this.#observer, this.#options.images);
    });
  }

  /**
   * Whether the guest has the current limits. The guest's memory contains the limits that the guest enforces, so a
   * script whose limits have changed is replayed along its tape.
   */
  #isGuestOfItsLimits({ limits }: ResumeState): boolean {
    return isSameForTheGuest(limits, this.#options.limits);
  }

  onlyReadsStarted(): boolean {
    return this.#facade.operations().every(({ effect, status }) => effect === 'read' || status === 'not_started');
  }

  readonly #observer = {
    onStart: () => this.#onStart(),
    onSegment: (segment: SandboxSegment) => this.#onSegment(segment),
  };

  /** Applies an event if the state accepts it. Only this method changes the state. */
  #take(event: StateEvent): boolean {
    const next = nextState(this.#state, event);
    if (next !== undefined) this.#state = next;
    return next !== undefined;
  }

  /** Starts the script from its beginning: for the first time, or as a replay. */
  #begin(): void {
    const { earlier, runtime } = this.#options;
    if (earlier !== undefined) this.#replay = new Replay(earlier.tape, this.#tape, earlier.output === undefined);
    this.#run = runtime.run(this.#job, this.#observer);
  }

  /**
   * Marks the start in a sandbox. The clock starts only at the first segment's report, because the worker thread may
   * execute other scripts until then.
   */
  #onStart(): void {
    if (this.#replay !== undefined) this.#take('start_replay');
    else if (this.#options.earlier === undefined) this.#take('start');
    else if (this.#take('restore')) this.#resumeCalls();
  }

  #onSegment(segment: SandboxSegment): void {
    const { end } = segment;
    if (this.#state === 'finishing' || this.#state === 'done') return;
    if (this.#state === 'replaying' && this.#replay !== undefined) return this.#onReplayed(segment, this.#replay);
    if (end?.type === 'unrestorable' && this.#take('restart')) {
      this.#options.onEvent({ type: 'internal', detail: end.detail });
      return this.#begin();
    }
    const breach = this.#breachOf(segment.calls);
    if (breach !== undefined) {
      this.#run?.cancel('cancelled');
      return void this.#finish({ type: 'internal', detail: breach });
    }
    if (!this.#take('turn_ended')) return;
    const { clock } = this.#usage;
    clock.turnEnds(segment.computeMs);
    if (!this.#isTimed) {
      this.#isTimed = true;
      clock.charge(segment.computeMs);
      // Many scripts end in their first segment and need no timer.
      if (end === undefined) clock.run();
    }
    this.#note(segment);
    // Calls of the last segment are started too, although nothing waits for them.
    startInTurns(segment.calls, {
      start: (call) => this.#startCall(call),
      continues: () => this.#state === 'starting',
      done: () => this.#onCallsStarted(segment),
    });
  }

  #onCallsStarted({ end, unobservable }: SandboxSegment): void {
    if (end !== undefined) {
      this.#calls.clearCallbacks(unobservable);
      void this.#finish(end);
      return;
    }
    if (!this.#take('calls_started')) return;
    for (const callIndex of unobservable) this.#calls.abandon(callIndex);
    this.#updateClock();
    this.#deliver();
  }

  /**
   * Returns the error of a runtime whose calls are not numbered in order. The host trusts no call count of a runtime:
   * each index must be the next one.
   */
  #breachOf(calls: readonly SandboxCall[]): string | undefined {
    let next = this.#tape.callCount;
    // defence: next-call-index-only
    for (const { callIndex } of calls)
      if (callIndex !== next++)
        return 'The runtime reported a call whose index is not the next index. Pass another runtime to createHarness. If the runtime is part of Toolscript, report this fault.';
    return undefined;
  }

  #onReplayed(segment: SandboxSegment, replay: Replay): void {
    const problem = replay.accept(segment.calls);
    if (problem !== undefined) return this.#diverged(problem);
    if (this.#options.earlier?.output === undefined) this.#note(segment, false);
    const step = replay.next(segment.end);
    switch (step.type) {
      case 'deliver':
        this.#guestClock.replay(step.batch.clockMs);
        this.#run?.settle(step.batch.settlements, step.batch.clockMs, this.#usage.clock.remainingMs());
        return;
      case 'diverged':
        return this.#diverged(step.how);
      case 'ended':
        return void this.#finish(step.end);
      case 'arrived':
        this.#replay = undefined;
        if (this.#options.earlier?.endsWithTape === true) this.#run?.cancel('cancelled');
        else if (this.#take('replayed')) this.#resumeCalls(replay.unanswered, segment.unobservable);
    }
  }

  #diverged(how: string): void {
    const detail = `A replay did not follow its tape: ${how}. Resume the script with the release and the runtime that started it.`;
    this.#options.onEvent({ type: 'internal', detail });
    this.#replay = undefined;
    this.#run?.cancel('cancelled');
    void this.#finish({ type: 'unrestorable', detail });
  }

  /**
   * Resumes the calls that the script waits for. The guest is in the state that it had when the script was suspended or
   * interrupted.
   */
  #resumeCalls(replayed: ReadonlyMap<number, SandboxCall> = new Map(), unobservable: readonly number[] = []): void {
    const earlier = this.#options.earlier!;
    const open = earlier.makesOpenCalls ? [...replayed.values()] : earlier.open;
    const answered = this.#ready.callIndexes();
    this.#isTimed = true;
    this.#usage.clock.run();
    this.#guestClock.resume(Date.now());
    for (const call of earlier.waiting) this.#calls.resumeCall(call);
    this.#earlierCalls?.followTasks((callIndex, operation, result) => this.#taskEnded(callIndex, operation, result));
    for (const call of open) {
      if (call.name === '$spawn') this.#earlierCalls?.restoreTask(call.callIndex);
      if (earlier.unknown.has(call.callIndex)) this.#repeat(call, earlier);
      else if (!answered.has(call.callIndex)) this.#startCall(call);
    }
    for (const callIndex of unobservable) this.#calls.abandon(callIndex);
    this.#updateClock();
    this.#deliver();
  }

  /**
   * Repeats a call whose outcome is unknown if the call's tool allowed a repetition when the call started, and still
   * does. Otherwise rejects the call.
   */
  #repeat(call: SandboxCall, { repeatable }: ResumeState): void {
    const operation = this.#earlierCalls?.operation(call.callIndex);
    // defence: only-idempotent-calls-are-repeated
    if (operation === undefined || !repeatable.has(call.callIndex) || !this.#facade.mayRepeat(operation))
      return this.#calls.rejectUnknown(call);
    this.#startCall(call, true);
  }

  /** `isNew` false: a replay repeats the segment. */
  #note(segment: SandboxSegment, isNew = true): void {
    this.#usage.note(segment);
    this.#output.take(segment, isNew ? (event) => this.#options.onEvent(event) : undefined);
  }

  #onFacadeEvent(event: FacadeEvent): void {
    this.#calls.notifyTask(event);
    if (event.type === 'output') return;
    if (event.type === 'call_noted') return this.#notes.add(event.note);
    if (event.type === 'waiting_changed') this.#updateClock();
    else if (event.type !== 'progress') this.#options.onEvent(event);
    else if (this.#output.mayProgress())
      this.#options.onEvent({ type: 'progress', message: event.message, kind: 'info', callId: event.callId });
    if (event.type === 'tool_call_done') this.#journal.ended(callIndexOf(event.operation.callId), event.operation);
  }

  /** Handles the end of a task that the script had started before it was suspended. */
  #taskEnded(callIndex: number, operation: Operation, result: CallResult | undefined): void {
    this.#journal.awaitEnd(callIndex);
    this.#journal.ended(callIndex, operation);
    if (result === undefined) this.#calls.rejectUnknown({ callIndex });
    else this.#settle({ callIndex }, result);
  }

  #startCall(call: SandboxCall, isRepeated = false): void {
    this.#tape.called(call);
    if (call.name === '$spawn') this.#journal.awaitEnd(call.callIndex);
    this.#calls.start(call, isRepeated);
  }

  #settle(call: { callIndex: number }, result: CallResult): void {
    const settlement: Settlement = { callIndex: call.callIndex, ...result };
    const isOver = this.#state === 'finishing' || this.#state === 'done' || this.#state === 'suspending';
    // The guest may compute for a long time, or may receive no more results. So the journal stores the effects now, in
    // case the process ends.
    if (isOver || this.#state === 'running') this.#journal.answered(settlement);
    if (isOver) return;
    this.#ready.add(settlement);
    if (this.#delivering) return;
    this.#delivering = true;
    // All settlements of this tick form one batch.
    queueMicrotask(() => {
      this.#delivering = false;
      this.#deliver();
    });
  }

  #deliver(): void {
    if (this.#delivering || this.#ready.isEmpty || !this.#take('deliver')) return;
    const settlements = this.#ready.takeBatch();
    const batch = { clockMs: this.#guestClock.advance(), settlements };
    this.#tape.delivered(batch);
    try {
      const written = this.#journal.delivered(batch.clockMs, settlements);
      if (written === undefined) this.#settleGuest(settlements);
      else
        written.then(
          () => this.#settleGuest(settlements),
          (error: unknown) => this.#onJournalFailure(error),
        );
    } catch (error) {
      this.#onJournalFailure(error);
    }
  }

  #settleGuest(settlements: readonly Settlement[]): void {
    if (this.#state !== 'running') return;
    const { clock } = this.#usage;
    this.#calls.delivered(settlements);
    this.#updateClock();
    clock.turnBegins();
    this.#run?.settle(settlements, this.#guestClock.shownMs, clock.remainingMs());
  }

  /** Ends the script, because another process has claimed it or the store has failed. No more effects may happen. */
  #onJournalFailure(error: unknown): void {
    const detail = `The journal could not be written: ${String(error)}. If the store failed, check the store, then call harness.recover(scriptId).`;
    if (this.#state === 'finishing') return;
    if (this.#state === 'done') {
      // A task ended after its script. If another process has resumed the script, the task's outcome is unknown in that
      // process.
      if (!(error instanceof StaleEpochError)) this.#options.onEvent({ type: 'internal', detail });
      return;
    }
    this.#run?.cancel('cancelled');
    this.#unwritten = error instanceof StaleEpochError ? 'taken' : 'failed';
    void this.#finish({ type: 'internal', detail });
  }

  #updateClock(): void {
    if (!this.#isTimed || (this.#state !== 'starting' && this.#state !== 'idle' && this.#state !== 'running')) return;
    const pending = this.#facade.pending();
    const waitsForDecisions = this.#calls.waitForDecisions(pending);
    const isIdle = this.#state === 'idle' && this.#ready.isEmpty;
    if (isIdle && waitsForDecisions && !this.#calls.hasTimers) this.#usage.clock.pause();
    else this.#usage.clock.run();
    if (!waitsForDecisions) this.#suspension.cancel();
    else if (!isIdle) this.#suspension.pause();
    else this.#suspension.waits(pending.parked === pending.awaitingApproval);
  }

  /**
   * Captures the guest and ends the session. A decision that arrives during the capture takes effect when the script is
   * resumed.
   */
  async #suspend(): Promise<void> {
    if (!this.#take('suspend')) return;
    this.#suspension.cancel();
    this.#usage.clock.pause();
    const operations = this.#facade.operations();
    const open = this.#calls.suspend();
    const calls = this.#facade.suspend();
    this.#journal.suspended();
    const capture = await this.#run?.capture?.().catch(() => undefined);
    // The script may have been cancelled during the capture.
    if (!this.#take('captured')) return;
    this.#options.signal?.removeEventListener('abort', this.#onAbort);
    if (capture === undefined) this.#run?.cancel('cancelled');
    this.#usage.clock.stop();
    this.#resolve(
      suspendedEnd(this.#options, {
        attempt: this.#attempt,
        tape: this.#tape.stored(),
        capture,
        calls,
        open,
        operations,
        rejected: [...this.#calls.rejected],
        output: this.#output,
        notes: this.#notes.all,
        spent: this.#usage.spent(this.#guestClock.shownMs),
        metadata: this.#metadata(this.#usage.nowMs()),
      }),
    );
  }

  async #finish(end: SandboxEnd): Promise<void> {
    try {
      const value = withoutRepairedReturn(end, this.#options.script, this.#options.limits);
      this.#valueWarning = value.warning;
      await this.#end(value.end);
    } catch (error) {
      const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
      this.#options.onEvent({ type: 'internal', detail });
      this.#resolve(this.#outcome({ type: 'internal', detail }, [], this.#usage.nowMs()));
    }
  }

  async #end(end: SandboxEnd): Promise<void> {
    if (!this.#take('end')) return;
    this.#options.signal?.removeEventListener('abort', this.#onAbort);
    this.#usage.clock.stop();
    this.#suspension.cancel();
    const durationMs = this.#usage.nowMs();
    this.#pendingTimers = this.#calls.pendingTimers();
    this.#calls.close();
    const stillRunning = this.#facade.isQuiet ? [] : await this.#endCalls(end);
    if (end.type === 'internal') this.#options.onEvent({ type: 'internal', detail: end.detail });
    this.#resolve(this.#outcome(end, stillRunning, durationMs));
    this.#take('calls_ended');
  }

  /**
   * If the script returned and the limits allow detached promises, waits for the calls. Then aborts the remaining
   * calls, and returns the operations of those that did not stop.
   */
  async #endCalls(end: SandboxEnd): Promise<readonly Operation[]> {
    const { limits } = this.#options;
    if (end.type === 'returned' && limits.allowDetachedPromises)
      await this.#calls.settledWithin(this.#usage.clock.remainingMs());
    const { stillRunning } = await this.#facade.abortAll(abortReasonAt(end, limits), ABORT_GRACE_MS);
    return stillRunning;
  }

  #outcome(end: SandboxEnd, stillRunning: readonly Operation[], durationMs: number): EndedOutcome {
    const { scriptId, script, limits } = this.#options;
    return endedOutcome({
      scriptId,
      script,
      limits,
      end,
      stillRunning,
      operations: this.#earlierCalls?.withWaiting(this.#facade.operations()) ?? this.#facade.operations(),
      detached: this.#calls.detached,
      rejected: this.#calls.rejected,
      pendingTimers: this.#pendingTimers,
      valueWarning: this.#valueWarning,
      codeOf: (callIndex) => this.#tape.errorCode(callIndex),
      builtinCalls: () => countBuiltinCalls(this.#tape.stored()),
      unwritten: this.#unwritten,
      output: this.#output,
      notes: this.#notes.all,
      metadata: this.#metadata(durationMs),
    });
  }

  #metadata(durationMs: number): OutcomeMetadata {
    return this.#usage.metadata(durationMs, this.#facade.callsMade());
  }
}
