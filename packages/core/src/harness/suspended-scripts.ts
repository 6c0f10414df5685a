import {
  isScriptId,
  scriptFailure,
  ToolscriptUsageError,
  type HarnessMode,
  type LimitsInput,
  type Outcome,
  type RunIdentity,
  type ScriptFailure,
  type StreamEvent,
} from '../protocol/index.js';
import {
  emitRefusal,
  playRest,
  runIdentity,
  type AnswerContext,
  type ResumeFirst,
  type TextRunOptions,
} from '../answer/index.js';
import { notInProcess } from '../run/durability/claims.js';
import { inspectScript, type KeptScriptDetails } from '../run/durability/kept-scripts.js';
import {
  checkDecisions,
  decideScript,
  findRecoverable,
  openFor,
  recoverScript,
  replayScript,
  reportEnd,
  resumedContext,
  resumeScript,
  waitsForNobody,
  type Decisions,
  type Recoverable,
  type ResumeHost,
  type WaitingScript,
} from '../run/resumption.js';
import { cannotResume, type ScriptRunEnd } from '../run/script-runner.js';
import type { HarnessServices } from '../run/script-run.js';
import { failedOutcome } from '../calls/session/index.js';
import type { LiveScript, RunContext, RunOptions } from '../protocol/run-context.js';
import type { JournalState } from '../run/durability/journal-lines.js';
import type { DecideResult, ProcessTextOptions, ResumeOptions } from './harness-types.js';
import type { RunKind } from './make-context.js';

/** The port through which suspended scripts use their harness. */
interface SuspendingHarness {
  services(): HarnessServices;
  readonly mode: HarnessMode;
  readonly hostLimits: Partial<LimitsInput>;
  context(run: RunOptions, kind: RunKind): RunContext;
  answerContext(run: RunOptions, kind: RunKind): AnswerContext;
  textRun(context: AnswerContext, run: Pick<ProcessTextOptions, 'continueOnError' | 'onOutcome'>): TextRunOptions;
}

/** Finds, decides about, resumes, recovers and replays the suspended and interrupted scripts of a harness. */
export class SuspendedScripts {
  readonly #harness: SuspendingHarness;

  constructor(harness: SuspendingHarness) {
    this.#harness = harness;
  }

  async resume(target: string, decisions: Decisions, run: ResumeOptions): Promise<Outcome> {
    const waiting = await this.#findResumable(target, decisions, run);
    return 'outcome' in waiting ? reportOutcome(waiting.outcome, run) : this.#resumeOpened(waiting, decisions, run);
  }

  async #resumeOpened(waiting: WaitingScript, decisions: Decisions, run: ResumeOptions): Promise<Outcome> {
    const { frame, nextSeq, answer } = waiting.suspension;
    if (answer === undefined) {
      const host = { ...this.#host(run), decisions };
      const { scriptId } = waiting.suspension.header;
      const asked = { scriptId, threadId: frame.identity.threadId };
      const outcome = await this.#followed(asked, run, async (given, live) =>
        resumeScript(this.#harness.services(), this.#context(given, frame.identity, nextSeq, live), waiting, host),
      );
      return reportOutcome(outcome, run);
    }
    let outcome: Outcome | undefined;
    const events = this.#resumeAnswer(waiting, decisions, run, (first) => (outcome = first));
    for await (const _event of events);
    return outcome!;
  }

  resumeText(target: string, decisions: Decisions, run: ResumeOptions): AsyncGenerator<StreamEvent, void, undefined> {
    return this.#resumeTarget(target, decisions, run);
  }

  async *#resumeTarget(
    target: string,
    decisions: Decisions,
    run: ResumeOptions,
  ): AsyncGenerator<StreamEvent, void, undefined> {
    const waiting = await this.#findResumable(target, decisions, run);
    if ('outcome' in waiting) yield* this.#refusalEvents(reportOutcome(waiting.outcome, run), run);
    else yield* this.#resumeAnswer(waiting, decisions, run, () => {});
  }

  async decide(scriptId: string, decisions: Decisions, run: Pick<ResumeOptions, 'principal'>): Promise<DecideResult> {
    const waiting = await this.#findWaitingScript(scriptId, decisions, run, 'decide');
    if ('outcome' in waiting) return { ok: false, error: resumeFailure(waiting.outcome) };
    const decided = await decideScript(this.#harness.services(), waiting, decisions);
    return 'outcome' in decided ? { ok: false, error: resumeFailure(decided.outcome) } : { ok: true, ...decided };
  }

  async recover(scriptId: string, run: ResumeOptions): Promise<Outcome> {
    const found: Recoverable | ScriptRunEnd = await findRecoverable(this.#harness.services(), scriptId, run);
    if ('outcome' in found) return reportOutcome(found.outcome, run);
    const refusal = this.#refusalToResume('recorded' in found ? found.recorded : found.suspension.frame);
    if (refusal !== undefined) return reportOutcome(failedOutcome(refusal, scriptId), run);
    return 'recorded' in found
      ? this.#recoverRecorded(scriptId, found.recorded, run)
      : this.#resumeOpened(found, {}, run);
  }

  async #recoverRecorded(scriptId: string, recorded: JournalState, run: ResumeOptions): Promise<Outcome> {
    const { identity, ended } = recorded;
    const own = runIdentity({ threadId: identity.threadId });
    const host = this.#host(run);
    if (ended !== undefined) {
      const end = await reportEnd(this.#harness.services(), this.#context(run, own), recorded, host);
      return reportOutcome(end.outcome, run);
    }
    const raced: { waiting?: WaitingScript } = {};
    const asked = { scriptId, threadId: identity.threadId };
    const outcome = await this.#followed(asked, run, async (given, live) => {
      const context = this.#context(given, own, 0, live);
      const recovered = await recoverScript(this.#harness.services(), context, scriptId, { ...host, force: run.force });
      if ('outcome' in recovered) return recovered;
      raced.waiting = recovered;
      return waitsForNobody(scriptId);
    });
    return raced.waiting === undefined ? reportOutcome(outcome, run) : this.#resumeOpened(raced.waiting, {}, run);
  }

  /** Runs a script again. Callers that wait for the script get the outcome too. */
  #followed(
    asked: { readonly scriptId: string; readonly threadId: string },
    { yieldAfterMs, ...run }: ResumeOptions,
    start: (run: ResumeOptions, live: LiveScript | undefined) => Promise<ScriptRunEnd>,
  ): Promise<Outcome> {
    const { principal, signal } = run;
    const { running } = this.#harness.services();
    return running.run({ ...asked, principal, signal, yieldAfterMs }, (signal, live) =>
      start({ ...run, signal }, live),
    );
  }

  async inspect(scriptId: string, principal: string | undefined): Promise<KeptScriptDetails | undefined> {
    const details = await inspectScript(this.#harness.services(), scriptId);
    // defence: inspect-asks-for-the-principal
    return details !== undefined && details.principal !== principal ? undefined : details;
  }

  async replay(scriptId: string, run: Pick<ResumeOptions, 'signal' | 'onEvent' | 'principal'>): Promise<Outcome> {
    const context = this.#context({ ...run, approvals: 'deny' }, runIdentity({}));
    return (await replayScript(this.#harness.services(), context, scriptId)).outcome;
  }

  #context(run: ResumeOptions, identity: RunIdentity, nextSeq = 0, live?: LiveScript): RunContext {
    return this.#harness.context(run, { identity, mode: this.#harness.mode, nextSeq, live });
  }

  /** The ceilings of resumed scripts are the limits that the harness or the resume sets explicitly. */
  #host({ limits, item }: ResumeOptions): ResumeHost {
    return { ceilings: { ...this.#harness.hostLimits, ...limits }, item };
  }

  /**
   * Returns the failure of a resume if the harness's mode forbids the resume; the stored script then stays unchanged. A
   * harness with mode `disabled` still resumes structured calls.
   */
  #refusalToResume({ callId }: { callId?: string | undefined }): ScriptFailure | undefined {
    if (this.#harness.mode === 'disabled' && callId !== undefined) return undefined;
    // defence: modes-hold-for-resumed-scripts
    return this.#harness.mode === 'enabled' ? undefined : cannotResume(this.#harness.mode);
  }

  async #findResumable(
    target: string,
    decisions: Decisions,
    run: ResumeOptions,
  ): Promise<WaitingScript | ScriptRunEnd> {
    const waiting = await this.#findWaiting(target, decisions, run);
    if ('outcome' in waiting) return waiting;
    const refusal = this.#refusalToResume(waiting.suspension.frame);
    return refusal === undefined ? waiting : { outcome: failedOutcome(refusal, waiting.suspension.header.scriptId) };
  }

  /** Finds the script to resume: by its suspension, or by its id in the store or in the memory of this harness. */
  async #findWaiting(target: string, decisions: Decisions, run: ResumeOptions): Promise<WaitingScript | ScriptRunEnd> {
    if (typeof target !== 'string')
      throw new ToolscriptUsageError('ARGUMENT_INVALID', {
        method: 'resume',
        expected: 'the suspension, or the id of a script in the store, as a string',
      });
    if (this.#harness.services().keeping !== undefined && isScriptId(target))
      return this.#findWaitingScript(target, decisions, run, 'resume');
    const text = isScriptId(target) ? this.#harness.services().inProcess?.get(target) : target;
    if (text === undefined) return notInProcess(target);
    const suspension = openFor(this.#harness.services(), text, run.principal);
    if ('outcome' in suspension) return suspension;
    checkDecisions(decisions, suspension);
    return { suspension, text, force: run.force === true };
  }

  async #findWaitingScript(
    scriptId: string,
    decisions: Decisions,
    run: ResumeOptions,
    method: string,
  ): Promise<WaitingScript | ScriptRunEnd> {
    const found = await findRecoverable(this.#harness.services(), scriptId, run, method);
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
    const { mode } = this.#harness;
    const host = this.#host(run);
    const own = this.#harness.answerContext(run, { identity: frame.identity, mode, nextSeq });
    const first: ResumeFirst = async (context, onClaimed) => {
      const end = await resumeScript(this.#harness.services(), context, waiting, { ...host, decisions, onClaimed });
      onOutcome(end.outcome);
      // If the script is suspended again, it is reported at the end of the answer, with its suspension.
      if (end.pending === undefined) reportOutcome(end.outcome, run);
      return end;
    };
    // The later scripts of the answer have the limits of the suspended one.
    const context = resumedContext(own, script.start, host.ceilings);
    const { continueOnError } = answer ?? {};
    return playRest(first, answer, this.#harness.textRun(context, { continueOnError, onOutcome: run.onOutcome }));
  }

  /** Yields the events of a run that ends at once because its suspension cannot be resumed. */
  *#refusalEvents(outcome: Outcome, run: RunOptions): Generator<StreamEvent, void, undefined> {
    const events: StreamEvent[] = [];
    const { mode } = this.#harness;
    const { sink } = this.#harness.answerContext(run, { identity: runIdentity({}), mode });
    sink.listen((event) => void events.push(event));
    emitRefusal(outcome, sink);
    yield* events;
  }
}

function reportOutcome(outcome: Outcome, { onOutcome }: Pick<ResumeOptions, 'onOutcome'>): Outcome {
  onOutcome?.(outcome);
  return outcome;
}

function resumeFailure(outcome: Outcome): ScriptFailure {
  return outcome.status === 'failed' ? outcome.error : scriptFailure('SuspensionError', 'The script was resumed.');
}
