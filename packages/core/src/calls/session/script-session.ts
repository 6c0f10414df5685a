import { inspect } from 'node:util';
import {
  ABORT_GRACE_MS,
  RunInterruption,
  JournalFullError,
  StaleEpochError,
  type Diagnostic,
  type Operation,
  type OutcomeMetadata,
  type RunningOutcome,
  type SandboxCall,
  type SandboxEnd,
  type SandboxJob,
  type SandboxRun,
  type SandboxSegment,
  type Settlement,
  type SourcePosition,
} from '../../protocol/index.js';
import type { CallListener, CallResult, Facade } from '../facade/index.js';
import type { RunContext } from '../../protocol/run-context.js';
import type { SessionEnd, SessionOptions, SessionScript } from './session-options.js';
import {
  abortReasonAt,
  withKeptValue,
  withoutRepairedReturn,
  endedOutcome,
  runningOutcome,
  type EndedOutcome,
} from './session-outcome.js';
import type { Unwritten } from './outcome-failure.js';
import { CallJournal, SettlementQueue, Replay, ScriptTape } from './journal.js';
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
  const { earlier } = options.script;
  const first = new ScriptSession(options, earlier?.attempt ?? 1);
  const outcome = await first.run();
  const isOurs = outcome.status === 'failed' && OUR_FAILURES.has(outcome.error.code);
  // defence: only-reads-are-repeated
  const mayRepeat = isOurs && earlier === undefined && first.onlyReadsStarted();
  if (!mayRepeat || options.context.signal?.aborted === true) return outcome;
  const second = new ScriptSession(options, 2);
  return repeatable(await second.run(), second);
}

/** The parts of a session that handle the script's calls. */
interface CallParts {
  readonly earlierCalls: EarlierCalls | undefined;
  readonly journal: CallJournal;
  readonly facade: Facade;
  readonly calls: ScriptCalls;
}

function unwrittenBecause(error: unknown): Unwritten {
  if (error instanceof StaleEpochError) return 'taken';
  return error instanceof JournalFullError ? 'full' : 'failed';
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
class ScriptSession implements CallListener {
  readonly callEnded: CallListener['callEnded'];
  readonly #options: SessionOptions;
  readonly #script: SessionScript;
  readonly #context: RunContext;
  readonly #attempt: number;
  readonly #callPrefix: string;
  /** The reason why a write to the journal failed; undefined if no write failed. */
  #unwritten: Unwritten | undefined;
  /** Undefined until the first call. */
  #parts: CallParts | undefined;
  readonly #output: ScriptOutput;
  readonly #tape: ScriptTape;
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
    if (this.#context.signal?.reason instanceof RunInterruption) this.#script.journal.leave();
    this.#run?.cancel('cancelled');
  };

  /**
   * `attempt`: 1, or 2 if Toolscript or its store failed at the first attempt. The calls of the two attempts have
   * different ids.
   */
  constructor(options: SessionOptions, attempt: number) {
    const { services, context, script } = options;
    const { scriptId, compiled, earlier } = script;
    this.#options = options;
    this.#script = script;
    this.#context = context;
    this.#attempt = attempt;
    this.#callPrefix = attempt === 1 ? `${scriptId}_call` : `${scriptId}_again`;
    this.#usage = new SessionUsage(options, () => this.#run?.cancel('timeout'));
    this.#output = new ScriptOutput(context, scriptId, () => this.#usage.nowMs(), earlier?.output);
    this.#tape = new ScriptTape(earlier?.tape);
    this.#notes = new CallNotes(compiled.diagnostics, earlier?.notes);
    this.#ready = new SettlementQueue(earlier?.ready);
    this.#guestClock = new GuestClock(earlier?.spent?.guestClockMs ?? script.clockMs);
    this.#suspension = new SuspensionPlan(services.suspendAfterMs, () => void this.#suspend());
    this.#job = sandboxJob(options);
    if (script.journal.isStored) this.callEnded = (operation) => this.#callParts.journal.ended(operation);
    if (earlier !== undefined) this.#parts = this.#makeParts();
  }

  /** The parts for the script's calls, which are made at the first call: many scripts make none. */
  get #callParts(): CallParts {
    this.#parts ??= this.#makeParts();
    return this.#parts;
  }

  #makeParts(): CallParts {
    const { services, makeFacade } = this.#options;
    const { earlier, journal: store } = this.#script;
    const tasks = services.tasks?.of(this.#context.principal);
    const earlierCalls = earlier === undefined ? undefined : new EarlierCalls(earlier, this.#script, tasks);
    const journal = new CallJournal(store, this.#tape, (error) => this.#onJournalFailure(error));
    const facade = makeFacade({
      nowMs: () => this.#usage.nowMs(),
      listener: this,
      earlier: earlierCalls,
      onIntent: store.isStored ? (operation, isRepeatable) => journal.intended(operation, isRepeatable) : undefined,
      followed: { tape: this.#tape, job: this.#job },
    });
    const calls = new ScriptCalls({
      session: this.#options,
      tasks,
      earlier: earlierCalls,
      facade,
      callPrefix: this.#callPrefix,
      settle: (call, result) => this.#settle(call, result),
    });
    return { earlierCalls, journal, facade, calls };
  }

  run(): Promise<SessionEnd> {
    const { runtime, images } = this.#options.services;
    const { earlier, journal } = this.#script;
    const { signal } = this.#context;
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
      this.#context.live?.follow({ soFar: () => this.#soFar(), keep: () => this.#keep() });
      if (earlier?.capture === undefined || runtime.restore === undefined || !this.#isGuestOfItsLimits(earlier))
        this.#begin();
      else this.#run = runtime.restore(earlier.capture, this.#job, this.#observer, images);
    });
  }

  /**
   * Whether the guest has the current limits. The guest's memory contains the limits that the guest enforces, so a
   * script whose limits have changed is replayed along its tape.
   */
  #isGuestOfItsLimits({ limits }: ResumeState): boolean {
    return isSameForTheGuest(limits, this.#context.limits);
  }

  onlyReadsStarted(): boolean {
    return this.#operations().every(({ effect, status }) => effect === 'read' || status === 'not_started');
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
    const { earlier } = this.#script;
    const { runtime } = this.#options.services;
    if (earlier !== undefined) this.#replay = new Replay(earlier.tape, this.#tape, earlier.output === undefined);
    this.#run = runtime.run(this.#job, this.#observer);
  }

  /**
   * Marks the start in a sandbox. The clock starts only at the first segment's report, because the worker thread may
   * execute other scripts until then.
   */
  #onStart(): void {
    if (this.#replay !== undefined) this.#take('start_replay');
    else if (this.#script.earlier === undefined) this.#take('start');
    else if (this.#take('restore')) this.#resumeCalls();
  }

  #onSegment(segment: SandboxSegment): void {
    const { end } = segment;
    if (this.#state === 'finishing' || this.#state === 'done') return;
    if (this.#state === 'replaying' && this.#replay !== undefined) return this.#onReplayed(segment, this.#replay);
    if (end?.type === 'unrestorable' && this.#script.earlier !== undefined && this.#take('restart')) {
      this.#options.onFault(end.detail);
      return this.#begin();
    }
    const breach = this.#callOrderError(segment.calls);
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
      this.#parts?.calls.clearCallbacks(unobservable);
      void this.#finish(end);
      return;
    }
    if (!this.#take('calls_started')) return;
    for (const callIndex of unobservable) this.#callParts.calls.abandon(callIndex);
    this.#updateClock();
    this.#deliver();
  }

  /**
   * Returns the error of a runtime whose calls are not numbered in order. The host trusts no call count of a runtime:
   * each index must be the next one.
   */
  #callOrderError(calls: readonly SandboxCall[]): string | undefined {
    let next = this.#tape.callCount;
    // defence: next-call-index-only
    for (const { callIndex } of calls)
      if (callIndex !== next++)
        return 'The runtime reported a call whose index is not the next index. Pass another runtime to createHarness. If the runtime is part of Toolscript, report this fault.';
    return undefined;
  }

  #onReplayed(segment: SandboxSegment, replay: Replay): void {
    const problem = replay.accept(segment.calls);
    if (problem !== undefined) return this.#reportDivergence(problem);
    if (this.#script.earlier?.output === undefined) this.#note(segment, false);
    const step = replay.next(segment.end);
    switch (step.type) {
      case 'deliver':
        this.#guestClock.replay(step.batch.clockMs);
        this.#run?.settle(step.batch.settlements, step.batch.clockMs, this.#usage.clock.remainingMs());
        return;
      case 'diverged':
        return this.#reportDivergence(step.how);
      case 'ended':
        return void this.#finish(step.end);
      case 'arrived':
        this.#replay = undefined;
        if (this.#script.earlier?.endsWithTape === true) this.#run?.cancel('cancelled');
        else if (this.#take('replayed')) this.#resumeCalls(replay.unanswered, segment.unobservable);
    }
  }

  #reportDivergence(how: string): void {
    const detail = `A replay did not follow its tape: ${how}. Resume the script with the release and the runtime that started it.`;
    this.#options.onFault(detail);
    this.#replay = undefined;
    this.#run?.cancel('cancelled');
    void this.#finish({ type: 'unrestorable', detail });
  }

  /**
   * Resumes the calls that the script waits for. The guest is in the state that it had when the script was suspended or
   * interrupted.
   */
  #resumeCalls(replayed: ReadonlyMap<number, SandboxCall> = new Map(), unobservable: readonly number[] = []): void {
    const earlier = this.#script.earlier!;
    const { calls, earlierCalls } = this.#callParts;
    const open = earlier.makesOpenCalls ? [...replayed.values()] : earlier.open;
    const answered = this.#ready.callIndexes();
    this.#isTimed = true;
    this.#usage.clock.run();
    this.#guestClock.resume(Date.now());
    for (const call of earlier.waiting) calls.resumeCall(call);
    earlierCalls?.followTasks((callIndex, operation, result) => this.#taskEnded(callIndex, operation, result));
    for (const call of open) {
      if (call.name === '$spawn') earlierCalls?.restoreTask(call.callIndex);
      if (earlier.unknown.has(call.callIndex)) this.#repeat(call, earlier);
      else if (!answered.has(call.callIndex)) this.#startCall(call);
    }
    for (const callIndex of unobservable) calls.abandon(callIndex);
    this.#updateClock();
    this.#deliver();
  }

  /**
   * Repeats a call whose outcome is unknown if the call's tool allowed a repetition when the call started, and still
   * does. Otherwise rejects the call.
   */
  #repeat(call: SandboxCall, { repeatable }: ResumeState): void {
    const { calls, facade, earlierCalls } = this.#callParts;
    const operation = earlierCalls?.operation(call.callIndex);
    // defence: only-idempotent-calls-are-repeated
    if (operation === undefined || !repeatable.has(call.callIndex) || !facade.mayRepeat(operation))
      return calls.rejectUnknown(call);
    this.#startCall(call, true);
  }

  /** `isNew` false: a replay repeats the segment. */
  #note(segment: SandboxSegment, isNew = true): void {
    const { cell } = this.#script;
    if (cell !== undefined) cell.left = segment.heap;
    this.#usage.note(segment);
    this.#output.take(segment, isNew);
  }

  waitingChanged(): void {
    this.#updateClock();
  }

  noteAdded(note: Diagnostic): void {
    this.#notes.add(note);
  }

  mayProgress(): boolean {
    return this.#output.mayProgress();
  }

  /** Handles the end of a task that the script had started before it was suspended. */
  #taskEnded(callIndex: number, operation: Operation, result: CallResult | undefined): void {
    const { calls, journal } = this.#callParts;
    journal.awaitEnd(callIndex);
    journal.ended(operation);
    if (result === undefined) calls.rejectUnknown({ callIndex });
    else this.#settle({ callIndex }, result);
  }

  #startCall(call: SandboxCall, isRepeated = false): void {
    // The journal is made before the first call is on the tape, of which it writes the later calls.
    const { calls, journal } = this.#callParts;
    this.#tape.called(call);
    journal.started(call);
    calls.start(call, isRepeated);
  }

  #settle(call: { callIndex: number }, result: CallResult): void {
    const settlement: Settlement = { callIndex: call.callIndex, ...result };
    const isOver = this.#state === 'finishing' || this.#state === 'done' || this.#state === 'suspending';
    // The guest may compute for a long time, or may receive no more results. So the journal stores the effects now, in
    // case the process ends.
    if (isOver || this.#state === 'running') this.#callParts.journal.answered(settlement);
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
      const written = this.#callParts.journal.delivered(batch.clockMs, settlements);
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
    this.#callParts.calls.delivered(settlements);
    this.#updateClock();
    clock.turnBegins();
    this.#run?.settle(settlements, this.#guestClock.shownMs, clock.remainingMs());
  }

  /** Ends the script, because another process has claimed it or the store has failed. No more effects may happen. */
  #onJournalFailure(error: unknown): void {
    const detail = `The journal could not be written: ${String(error)}. If the store failed, check the store, then call harness.recover(scriptId).`;
    if (this.#state === 'finishing' || this.#state === 'done') {
      // A call ended after its script. If another process has resumed the script, the call's outcome is unknown in that
      // process.
      if (!(error instanceof StaleEpochError)) this.#options.onFault(detail);
      return;
    }
    this.#run?.cancel('cancelled');
    this.#unwritten = unwrittenBecause(error);
    void this.#finish({ type: 'internal', detail });
  }

  #updateClock(): void {
    if (!this.#isTimed || (this.#state !== 'starting' && this.#state !== 'idle' && this.#state !== 'running')) return;
    const { calls, facade } = this.#callParts;
    const pending = facade.pending();
    const waitsForDecisions = calls.waitForDecisions(pending);
    const isIdle = this.#state === 'idle' && this.#ready.isEmpty;
    if (isIdle && waitsForDecisions && !calls.hasTimers) this.#usage.clock.pause();
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
    const { calls, facade, journal } = this.#callParts;
    const operations = facade.operations();
    const open = calls.suspend();
    const suspendedCalls = facade.suspend();
    journal.suspended();
    const capture = await this.#run?.capture?.().catch(() => undefined);
    // The script may have been cancelled during the capture.
    if (!this.#take('captured')) return;
    this.#context.signal?.removeEventListener('abort', this.#onAbort);
    this.#tape.close();
    if (capture === undefined) this.#run?.cancel('cancelled');
    this.#usage.clock.stop();
    this.#resolve(
      suspendedEnd(this.#options, {
        attempt: this.#attempt,
        tape: this.#tape.stored(),
        capture,
        calls: suspendedCalls,
        open,
        operations,
        rejected: [...calls.rejected],
        output: this.#output,
        notes: this.#notes.all,
        spent: this.#usage.spent(this.#guestClock.shownMs),
        metadata: this.#metadata(this.#usage.nowMs()),
      }),
    );
  }

  async #finish(end: SandboxEnd): Promise<void> {
    try {
      const ended = withKeptValue(end, this.#script.cell?.left);
      const value = withoutRepairedReturn(ended, this.#script.compiled, this.#context.limits);
      this.#valueWarning = value.warning;
      await this.#end(value.end);
    } catch (error) {
      const detail = inspect(error);
      this.#options.onFault(detail);
      this.#resolve(this.#outcome({ type: 'internal', detail }, [], this.#usage.nowMs()));
    }
  }

  async #end(end: SandboxEnd): Promise<void> {
    if (!this.#take('end')) return;
    this.#tape.close();
    this.#context.signal?.removeEventListener('abort', this.#onAbort);
    this.#usage.clock.stop();
    this.#suspension.cancel();
    const durationMs = this.#usage.nowMs();
    const stillRunning = this.#parts === undefined ? [] : await this.#endCalls(end, this.#parts);
    if (end.type === 'internal') this.#options.onFault(end.detail);
    this.#resolve(this.#outcome(end, stillRunning, durationMs));
    this.#take('calls_ended');
  }

  /**
   * If the script returned and the limits allow detached promises, waits for the calls. Then aborts the remaining
   * calls, and returns the operations of those that did not stop.
   */
  async #endCalls(end: SandboxEnd, { calls, facade }: CallParts): Promise<readonly Operation[]> {
    const { limits } = this.#context;
    this.#pendingTimers = calls.pendingTimers();
    calls.close();
    if (facade.isQuiet) return [];
    if (end.type === 'returned' && limits.allowDetachedPromises)
      await calls.settledWithin(this.#usage.clock.remainingMs());
    const { stillRunning } = await facade.abortAll(abortReasonAt(end, limits), ABORT_GRACE_MS);
    return stillRunning;
  }

  #outcome(end: SandboxEnd, stillRunning: readonly Operation[], durationMs: number): EndedOutcome {
    const { scriptId, compiled: script } = this.#script;
    const outcome = endedOutcome({
      scriptId,
      script,
      limits: this.#context.limits,
      end,
      stillRunning,
      operations: this.#parts?.earlierCalls?.withWaiting(this.#operations()) ?? this.#operations(),
      detached: this.#parts?.calls.detached,
      rejected: this.#parts?.calls.rejected,
      pendingTimers: this.#pendingTimers,
      valueWarning: this.#valueWarning,
      rejectionCode: (callIndex) => this.#tape.errorCode(callIndex),
      whyMissing: this.#options.services.whyMissing,
      toolNames: this.#script.toolNames,
      builtinCalls: () => countBuiltinCalls(this.#tape.stored()),
      unwritten: this.#unwritten,
      output: this.#output,
      notes: this.#notes.all,
      metadata: this.#metadata(durationMs),
    });
    const found = this.#parts?.calls.foundBeside(outcome.operations) ?? [];
    return found.length === 0 ? outcome : { ...outcome, found };
  }

  #soFar(): RunningOutcome {
    return runningOutcome({
      scriptId: this.#script.scriptId,
      script: this.#script.compiled,
      operations: this.#operations(),
      output: this.#output,
      notes: this.#notes.all,
      metadata: this.#metadata(this.#usage.nowMs()),
    });
  }

  async #keep(): Promise<void> {
    try {
      await this.#script.journal.keep();
    } catch (error) {
      this.#onJournalFailure(error);
    }
  }

  #operations(): Operation[] {
    return this.#parts?.facade.operations() ?? [];
  }

  #metadata(durationMs: number): OutcomeMetadata {
    return this.#usage.metadata(durationMs, this.#parts?.facade.callsMade() ?? 0);
  }
}
