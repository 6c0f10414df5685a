import {
  ABORT_GRACE_MS,
  StaleEpochError,
  type Limits,
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
import { CallJournal } from './call-journal.js';
import { CallNotes } from './call-notes.js';
import { EarlierCalls } from './earlier-calls.js';
import type { EarlierLife } from './earlier-life.js';
import { roundMs, withoutRepairedReturn } from './final-operations.js';
import { GuestClock } from './guest-clock.js';
import { countBuiltinCalls, isSameForTheGuest } from './sandbox-limits.js';
import { callIndexOf, ScriptCalls } from './script-calls.js';
import { sandboxJob, scriptStart } from './script-start.js';
import { ScriptVoice } from './script-voice.js';
import type { SessionEnd, SessionOptions, SuspendedEnd } from './session-options.js';
import { endedOutcome, type EndedOutcome } from './session-outcome.js';
import type { SpentSoFar, SuspendedScript } from './suspended-script.js';
import { ScriptTape, TapeReader } from './tape.js';
import { WallClock } from './wall-clock.js';

/**
 * One script's life, from its place in the queue to its outcome.
 *
 * waiting ─onStart→ segment → starting → standing → segment … ─end→ finishing → done. In `segment` the guest runs and
 * nothing may be delivered to it; in `starting` the calls that it made are started, in turns of the event loop where
 * they are many; in `standing` it waits for settlements, which are collected and delivered together. The
 * wall clock runs in all three, except while approvals are all that is pending. A cancellation or a clock that has
 * run out asks the runtime to end the run; the last segment then says so.
 *
 * Two ways lead round that: standing ─→ suspending → done, where decisions of people are all that is waited for;
 * and, for a script that was put aside or cut off, waiting → standing where its memory is restored, or waiting →
 * replaying → standing where it is told again what its tape holds.
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

/** Not the script's own. */
const OUR_FAILURES: ReadonlySet<string> = new Set(['HarnessInternalError', 'StoreError']);

/** A script that the store cut off may be run again where it has done nothing. */
function repeatable(end: SessionEnd, session: ScriptSession): SessionEnd {
  const isNothingDone = end.status === 'failed' && end.error.code === 'StoreError' && session.onlyReadsStarted();
  return isNothingDone ? { ...end, error: { ...end.error, retryable: true } } : end;
}

type SessionState = 'waiting' | 'replaying' | 'segment' | 'starting' | 'standing' | 'suspending' | 'finishing' | 'done';

/**
 * Calls of one segment, and characters of their arguments, that are started before others have their turn of the
 * event loop. The time is for checks that cost much; it is long, so that the order of events rarely depends on how
 * busy the machine is.
 */
const TURN_CALLS = 64;
const TURN_UNITS = 65_536;
const TURN_MS = 25;

/** Characters of results that go to the guest at once; the rest follows in the next batch. */
const MAX_BATCH_UNITS = 4_194_304;

class ScriptSession {
  readonly #options: SessionOptions;
  readonly #attempt: number;
  readonly #callPrefix: string;
  /** Why the journal could not be written, where it could not. */
  #unwritten: 'failed' | 'taken' | undefined;
  readonly #facade: Facade;
  readonly #voice: ScriptVoice;
  readonly #clock: WallClock;
  readonly #guestClock: GuestClock;
  readonly #tape: ScriptTape;
  readonly #calls: ScriptCalls;
  readonly #earlierCalls: EarlierCalls | undefined;
  readonly #journal: CallJournal;
  readonly #notes: CallNotes;
  readonly #startedAt: number;
  readonly #job: SandboxJob;
  #state: SessionState = 'waiting';
  #run: SandboxRun | undefined;
  #replay: TapeReader | undefined;
  /** Calls of the replay that its tape has not answered. */
  #replayed = new Map<number, SandboxCall>();
  #nextReplayed = 0;
  #ready: Settlement[];
  #delivering = false;
  #isTimed = false;
  #suspendTimer: NodeJS.Timeout | undefined;
  /** On the monotonic clock, while decisions are waited for. */
  #suspendAtMs: number | undefined;
  /** At the script's end. */
  #pendingTimers: readonly (SourcePosition | undefined)[] = [];
  #computeMs: number;
  #memoryBytes: number;
  #compilationCacheHit: boolean;
  #resolve: (end: SessionEnd) => void = () => {};
  readonly #onAbort = () => this.#run?.cancel('cancelled');

  /** `attempt`: 1, or 2 where Toolscript itself had failed the first time; its calls have names of their own. */
  constructor(options: SessionOptions, attempt: number) {
    const { scriptId, limits, earlier, journal } = options;
    const spent = earlier?.spent;
    this.#options = options;
    this.#attempt = attempt;
    this.#callPrefix = attempt === 1 ? `${scriptId}_call` : `${scriptId}_again`;
    const sleptMs = spent === undefined ? 0 : Math.max(0, Date.now() - spent.atMs);
    this.#startedAt = performance.now() - (spent === undefined ? 0 : spent.elapsedMs + sleptMs);
    const nowMs = () => performance.now() - this.#startedAt;
    this.#voice = new ScriptVoice(limits, nowMs, earlier?.voice);
    this.#clock = new WallClock(
      remainingWallMs(limits, earlier),
      () => this.#run?.cancel('timeout'),
      spent === undefined ? 0 : spent.wall.pausedMs + sleptMs,
    );
    this.#tape = new ScriptTape(earlier?.tape);
    this.#journal = new CallJournal(journal, this.#tape, (error) => this.#cannotWrite(error));
    this.#notes = new CallNotes(options.script.diagnostics, earlier?.notes);
    this.#ready = [...(earlier?.ready ?? [])];
    this.#guestClock = new GuestClock(spent?.guestClockMs ?? options.clockMs);
    this.#computeMs = spent?.computeMs ?? 0;
    this.#memoryBytes = spent?.memoryBytes ?? 0;
    this.#compilationCacheHit = spent?.compilationCacheHit ?? true;
    this.#job = sandboxJob(options);
    const { clockMs, tasks } = options;
    this.#earlierCalls = earlier === undefined ? undefined : new EarlierCalls(earlier, { scriptId, clockMs, tasks });
    this.#facade = options.makeFacade({
      nowMs,
      onEvent: (event) => this.#onFacadeEvent(event),
      earlier: this.#earlierCalls,
      onIntent: journal.isKept ? (intent) => this.#journal.intended(intent) : undefined,
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
        void this.#finish({ type: 'cancelled', reason: 'cancelled' });
        return;
      }
      signal?.addEventListener('abort', this.#onAbort, { once: true });
      journal.whenLost((error) => this.#cannotWrite(error));
      if (earlier === undefined && journal.isKept) journal.started(scriptStart(this.#options, this.#attempt));
      if (earlier?.capture === undefined || runtime.restore === undefined || !this.#isGuestOfItsLimits(earlier))
        this.#begin();
      else this.#run = runtime.restore(earlier.capture, this.#job, this.#observer, this.#options.images);
    });
  }

  /** The limits that a guest holds itself to lie in its memory: where others hold now, it goes along its tape. */
  #isGuestOfItsLimits({ limits }: EarlierLife): boolean {
    return isSameForTheGuest(limits, this.#options.limits);
  }

  onlyReadsStarted(): boolean {
    return this.#facade.operations().every(({ effect, status }) => effect === 'read' || status === 'not_started');
  }

  readonly #observer = {
    onStart: () => this.#onStart(),
    onSegment: (segment: SandboxSegment) => this.#onSegment(segment),
  };

  /** From the script's beginning: for the first time, or along its tape. */
  #begin(): void {
    const { earlier, runtime } = this.#options;
    this.#state = 'waiting';
    if (earlier !== undefined) this.#replay = new TapeReader(earlier.tape);
    this.#run = runtime.run(this.#job, this.#observer);
  }

  /** The clock starts with the first segment's report: until then the worker may be busy with others. */
  #onStart(): void {
    if (this.#state !== 'waiting') return;
    if (this.#replay !== undefined) this.#state = 'replaying';
    else if (this.#options.earlier === undefined) this.#state = 'segment';
    else this.#stand();
  }

  #onSegment(segment: SandboxSegment): void {
    const { end } = segment;
    if (this.#state === 'finishing' || this.#state === 'done') return;
    if (this.#state === 'replaying' && this.#replay !== undefined) return this.#onReplayed(segment, this.#replay);
    if (end?.type === 'unrestorable') {
      this.#options.onEvent({ type: 'internal', detail: end.detail });
      return this.#begin();
    }
    const breach = this.#breachOf(segment.calls);
    if (breach !== undefined) {
      this.#run?.cancel('cancelled');
      return void this.#finish({ type: 'internal', detail: breach });
    }
    this.#state = 'starting';
    this.#clock.turnEnds(segment.computeMs);
    if (!this.#isTimed) {
      this.#isTimed = true;
      this.#clock.charge(segment.computeMs);
      // Many scripts end in their first segment and need no timer.
      if (end === undefined) this.#clock.run();
    }
    this.#note(segment);
    // Those of the last segment were made too, though nobody waits for them any more.
    this.#startCalls(segment, 0);
  }

  /** From this one on. */
  #startCalls(segment: SandboxSegment, from: number): void {
    const { calls, end, unobservable } = segment;
    let units = 0;
    const turnEnds = calls.length < 2 ? 0 : performance.now() + TURN_MS;
    for (let index = from; index < calls.length; index++) {
      const isOver = index - from >= TURN_CALLS || units > TURN_UNITS;
      // defence: calls-start-in-turns
      if (isOver || (index > from && performance.now() > turnEnds)) {
        setImmediate(() => {
          if (this.#state === 'starting') this.#startCalls(segment, index);
        });
        return;
      }
      units += calls[index]!.argsJson.length;
      this.#startCall(calls[index]!);
    }
    if (end !== undefined) {
      this.#calls.forgetTimers(unobservable);
      void this.#finish(end);
      return;
    }
    this.#state = 'standing';
    for (const callIndex of unobservable) this.#calls.abandon(callIndex);
    this.#updateClock();
    this.#deliver();
  }

  /** A runtime counts its calls; whatever it says, each must be the next one. */
  #breachOf(calls: readonly SandboxCall[]): string | undefined {
    let next = this.#tape.callCount;
    // defence: next-call-index-only
    for (const { callIndex } of calls)
      if (callIndex !== next++) return 'the runtime gave a call that is not the next one';
    return undefined;
  }

  #onReplayed(segment: SandboxSegment, replay: TapeReader): void {
    for (const call of segment.calls) {
      if (call.callIndex !== this.#nextReplayed++) return this.#diverged('it counts its calls in another way');
      this.#replayed.set(call.callIndex, call);
      if (call.callIndex >= replay.callCount) this.#tape.called(call);
    }
    if (!segment.calls.every((call) => replay.agrees(call))) return this.#diverged('it made other calls');
    const isNew = this.#options.earlier?.voice === undefined;
    if (isNew) this.#note(segment, false);
    const batch = replay.next();
    if (batch !== undefined && segment.end === undefined) {
      for (const { callIndex } of batch.settlements) this.#replayed.delete(callIndex);
      this.#guestClock.replay(batch.clockMs);
      this.#run?.settle(batch.settlements, batch.clockMs, this.#clock.remainingMs());
      return;
    }
    this.#replay = undefined;
    if (segment.end?.type === 'cancelled' || segment.end?.type === 'limit') return void this.#finish(segment.end);
    if (batch !== undefined || (segment.end !== undefined && !isNew)) return this.#diverged('it ended before');
    if (segment.end !== undefined) return void this.#finish(segment.end);
    if (this.#options.earlier?.endsWithTape === true) this.#run?.cancel('cancelled');
    else this.#stand(segment.unobservable);
  }

  #diverged(how: string): void {
    const detail = `a replay did not follow its tape: ${how}`;
    this.#options.onEvent({ type: 'internal', detail });
    this.#replay = undefined;
    this.#run?.cancel('cancelled');
    void this.#finish({ type: 'unrestorable', detail });
  }

  /** The guest is again where it was; now what it waited for. */
  #stand(unobservable: readonly number[] = []): void {
    const earlier = this.#options.earlier!;
    const open = earlier.makesOpenCalls ? [...this.#replayed.values()] : earlier.open;
    const answered = new Set(this.#ready.map(({ callIndex }) => callIndex));
    this.#replayed.clear();
    this.#isTimed = true;
    this.#state = 'standing';
    this.#clock.run();
    this.#guestClock.resume(Date.now());
    for (const call of earlier.waiting) this.#calls.takeUp(call);
    this.#earlierCalls?.followTasks((callIndex, operation, result) => this.#taskEnded(callIndex, operation, result));
    for (const call of open) {
      if (call.name === '$spawn') this.#earlierCalls?.restoreTask(call.callIndex);
      if (earlier.unknown.has(call.callIndex)) this.#startAgain(call, earlier);
      else if (!answered.has(call.callIndex)) this.#startCall(call);
    }
    for (const callIndex of unobservable) this.#calls.abandon(callIndex);
    this.#updateClock();
    this.#deliver();
  }

  /** Nobody knows how the call ended: it is made again where both the tool of then and that of now say that it may. */
  #startAgain(call: SandboxCall, { repeatable }: EarlierLife): void {
    const operation = this.#earlierCalls?.operation(call.callIndex);
    // defence: only-idempotent-calls-are-repeated
    if (operation === undefined || !repeatable.has(call.callIndex) || !this.#facade.mayRepeat(operation))
      return this.#calls.tellUnknown(call);
    this.#startCall(call, true);
  }

  #note(segment: SandboxSegment, isTold = true): void {
    this.#computeMs += segment.computeMs;
    this.#memoryBytes = Math.max(this.#memoryBytes, segment.memoryBytes);
    this.#compilationCacheHit &&= segment.compilationCacheHit;
    if (segment.output !== '') this.#voice.say(segment.output);
    this.#voice.dropped(segment.dropped.logs, segment.dropped.progress);
    for (const { level, text } of segment.logs) {
      const entry = this.#voice.log(level, text, isTold);
      if (entry !== undefined && isTold) this.#options.onEvent({ type: 'log', entry });
    }
    for (const { message, kind } of segment.progress) {
      if (this.#voice.mayProgress() && isTold) this.#options.onEvent({ type: 'progress', message, kind });
    }
  }

  #onFacadeEvent(event: FacadeEvent): void {
    this.#calls.tellTask(event);
    if (event.type === 'output') return;
    if (event.type === 'call_noted') return this.#notes.add(event.note);
    if (event.type === 'waiting_changed') this.#updateClock();
    else if (event.type !== 'progress') this.#options.onEvent(event);
    else if (this.#voice.mayProgress())
      this.#options.onEvent({ type: 'progress', message: event.message, kind: 'info', callId: event.callId });
    if (event.type === 'tool_call_done') this.#journal.ended(callIndexOf(event.operation.callId), event.operation);
  }

  /** A task that an earlier life of the script had started. */
  #taskEnded(callIndex: number, operation: Operation, result: CallResult | undefined): void {
    this.#journal.awaitEnd(callIndex);
    this.#journal.ended(callIndex, operation);
    if (result === undefined) this.#calls.tellUnknown({ callIndex });
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
    // The guest may compute for long, or hear no more: what has taken effect is known even if the process ends first.
    if (isOver || this.#state === 'segment') this.#journal.answered(settlement);
    if (isOver) return;
    this.#ready.push(settlement);
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
    const settlements = this.#takeBatch();
    const batch = { clockMs: this.#guestClock.advance(), settlements };
    this.#state = 'segment';
    this.#tape.told(batch);
    try {
      const written = this.#journal.delivered(batch.clockMs, settlements);
      if (written === undefined) this.#tell(settlements);
      else
        written.then(
          () => this.#tell(settlements),
          (error: unknown) => this.#cannotWrite(error),
        );
    } catch (error) {
      this.#cannotWrite(error);
    }
  }

  /** What is ready, as far as it may go at once. */
  #takeBatch(): Settlement[] {
    let units = 0;
    let count = 0;
    for (const settlement of this.#ready) {
      if (count > 0 && units > MAX_BATCH_UNITS) break;
      units += settlement.ok ? settlement.json.length : settlement.error.message.length;
      count++;
    }
    if (count === this.#ready.length) {
      const all = this.#ready;
      this.#ready = [];
      return all;
    }
    return this.#ready.splice(0, count);
  }

  #tell(settlements: readonly Settlement[]): void {
    if (this.#state !== 'segment') return;
    this.#calls.delivered(settlements);
    this.#updateClock();
    this.#clock.turnBegins();
    this.#run?.settle(settlements, this.#guestClock.shownMs, this.#clock.remainingMs());
  }

  /** Somebody else has gone on with the script, or the store has failed: nothing more may happen. */
  #cannotWrite(error: unknown): void {
    const detail = `the journal could not be written: ${String(error)}`;
    if (this.#state === 'finishing') return;
    if (this.#state === 'done') {
      // A task that ended after its script. Where somebody else has resumed that, its end is unknown there.
      if (!(error instanceof StaleEpochError)) this.#options.onEvent({ type: 'internal', detail });
      return;
    }
    this.#run?.cancel('cancelled');
    this.#unwritten = error instanceof StaleEpochError ? 'taken' : 'failed';
    void this.#finish({ type: 'internal', detail });
  }

  #updateClock(): void {
    if (!this.#isTimed || (this.#state !== 'starting' && this.#state !== 'standing' && this.#state !== 'segment'))
      return;
    const pending = this.#facade.pending();
    const waitsForDecisions = this.#calls.waitForDecisions(pending);
    const isIdle = this.#state === 'standing' && this.#ready.length === 0;
    if (isIdle && waitsForDecisions && !this.#calls.hasTimers) this.#clock.pause();
    else this.#clock.run();
    clearTimeout(this.#suspendTimer);
    if (!waitsForDecisions) this.#suspendAtMs = undefined;
    else if (isIdle) this.#planSuspension(pending.parked === pending.awaitingApproval);
  }

  /** A timer that fires while decisions are waited for does not put the suspension off. */
  #planSuspension(nobodyIsAsked: boolean): void {
    const { suspendAfterMs } = this.#options;
    if (nobodyIsAsked) return void this.#suspend();
    if (suspendAfterMs === undefined) return;
    const now = performance.now();
    this.#suspendAtMs ??= now + suspendAfterMs;
    const leftMs = Math.ceil(this.#suspendAtMs - now);
    if (leftMs <= 0) void this.#suspend();
    else this.#suspendTimer = setTimeout(() => void this.#suspend(), leftMs);
  }

  /** Captures the guest and ends the session; whatever decides meanwhile is too late, and decides at the resume. */
  async #suspend(): Promise<void> {
    if (this.#state !== 'standing') return;
    this.#state = 'suspending';
    clearTimeout(this.#suspendTimer);
    this.#clock.pause();
    const operations = this.#facade.operations();
    const open = this.#calls.suspend();
    const calls = this.#facade.suspend();
    this.#journal.suspended();
    const capture = await this.#run?.capture?.().catch(() => undefined);
    // It may have been cancelled meanwhile.
    if ((this.#state as SessionState) !== 'suspending') return;
    this.#options.signal?.removeEventListener('abort', this.#onAbort);
    this.#state = 'done';
    if (capture === undefined) this.#run?.cancel('cancelled');
    const suspended: SuspendedScript = {
      start: scriptStart(this.#options, this.#attempt),
      tape: this.#tape.stored(),
      capture,
      calls,
      running: calls.ended.filter(({ operation }) => operation.status === 'detached').map(({ callIndex }) => callIndex),
      open,
      rejected: [...this.#calls.rejected],
      voice: this.#voice.state(),
      notes: this.#notes.all,
      spent: this.#spent(),
    };
    this.#clock.stop();
    this.#resolve(this.#suspendedEnd(suspended, operations));
  }

  #spent(): SpentSoFar {
    return {
      wall: this.#clock.reading(),
      elapsedMs: performance.now() - this.#startedAt,
      atMs: Date.now(),
      guestClockMs: this.#guestClock.shownMs,
      computeMs: this.#computeMs,
      memoryBytes: this.#memoryBytes,
      cacheHit: this.#options.cacheHit,
      compilationCacheHit: this.#compilationCacheHit,
    };
  }

  #suspendedEnd(suspended: SuspendedScript, operations: Operation[]): SuspendedEnd {
    const { scriptId, script } = this.#options;
    return {
      status: 'suspended',
      suspended,
      pendingApprovals: suspended.calls.waiting.map(({ request }) => request),
      scriptId,
      output: this.#voice.output,
      logs: this.#voice.logs,
      operations,
      diagnostics: [...script.diagnostics, ...this.#notes.all],
      plan: [...script.plan],
      metadata: this.#metadata(performance.now() - this.#startedAt),
    };
  }

  async #finish(end: SandboxEnd): Promise<void> {
    try {
      await this.#end(withoutRepairedReturn(end, this.#options.script));
    } catch (error) {
      const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
      this.#options.onEvent({ type: 'internal', detail });
      this.#resolve(this.#outcome({ type: 'internal', detail }, [], performance.now() - this.#startedAt));
    }
  }

  async #end(end: SandboxEnd): Promise<void> {
    this.#state = 'finishing';
    this.#options.signal?.removeEventListener('abort', this.#onAbort);
    this.#clock.stop();
    clearTimeout(this.#suspendTimer);
    const durationMs = performance.now() - this.#startedAt;
    this.#pendingTimers = this.#calls.pendingTimers();
    this.#calls.close();
    const stillRunning = this.#facade.isQuiet ? [] : await this.#endCalls(end);
    if (end.type === 'internal') this.#options.onEvent({ type: 'internal', detail: end.detail });
    this.#resolve(this.#outcome(end, stillRunning, durationMs));
    this.#state = 'done';
  }

  /** The operations that went on all the same. */
  async #endCalls(end: SandboxEnd): Promise<readonly Operation[]> {
    const { limits } = this.#options;
    if (end.type === 'returned' && limits.allowDetachedPromises)
      await this.#calls.settledWithin(this.#clock.remainingMs());
    const { stillRunning } = await this.#facade.abortAll(
      end.type === 'returned' ? 'the script ended without awaiting it' : 'the script ended',
      ABORT_GRACE_MS,
    );
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
      codeOf: (callIndex) => this.#tape.errorCode(callIndex),
      builtinCalls: () => countBuiltinCalls(this.#tape.stored()),
      unwritten: this.#unwritten,
      voice: this.#voice,
      notes: this.#notes.all,
      metadata: this.#metadata(durationMs),
    });
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

/** What is left of the wall clock, where the limit may be lower than before. */
function remainingWallMs({ timeoutMs }: Limits, earlier: EarlierLife | undefined): number {
  if (earlier?.spent === undefined) return timeoutMs;
  return earlier.spent.wall.remainingMs - (earlier.limits.timeoutMs - timeoutMs);
}
