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
  EventStream,
  playRest,
  runIdentity,
  sinkOf,
  type ResumeFirst,
  type TextRunOptions,
} from '../answer/index.js';
import { notInProcess } from '../durability/claims.js';
import { inspectScript, type KeptScriptDetails } from '../durability/kept-scripts.js';
import {
  checkDecisions,
  decideScript,
  findRecoverable,
  openFor,
  recoverScript,
  replayScript,
  reportEnd,
  resumedLimits,
  resumeScript,
  waitsForNobody,
  type Decisions,
  type Recoverable,
  type ResumeHost,
  type WaitingScript,
} from '../run/resumption.js';
import { cannotResume, type RunEnd } from '../run/script-runner.js';
import type { HarnessServices } from '../run/script-run.js';
import { failedOutcome } from '../session/index.js';
import type { Decided, ProcessTextOptions, ResumeOptions, RunOptions } from './harness-types.js';
import { resolveLimits, type HarnessOptions } from './options.js';

/** The members of a harness that its suspended scripts need. */
interface OfHarness extends Pick<HarnessOptions, 'approvals' | 'onEvent'> {
  services(): HarnessServices;
  readonly mode: HarnessMode;
  readonly hostLimits: Partial<LimitsInput>;
  textRun(
    run: RunOptions & Pick<ProcessTextOptions, 'onOutcome'>,
    how: Pick<TextRunOptions, 'identity' | 'mode' | 'continueOnError' | 'nextSeq'>,
  ): TextRunOptions;
}

/** Finds, decides about, resumes, recovers and replays the suspended and interrupted scripts of a harness. */
export class SuspendedScripts {
  readonly #harness: OfHarness;

  constructor(harness: OfHarness) {
    this.#harness = harness;
  }

  async resume(target: string, decisions: Decisions, run: ResumeOptions): Promise<Outcome> {
    const waiting = await this.#findResumable(target, decisions, run);
    return 'outcome' in waiting ? reported(waiting.outcome, run) : this.#resumeOpened(waiting, decisions, run);
  }

  async #resumeOpened(waiting: WaitingScript, decisions: Decisions, run: ResumeOptions): Promise<Outcome> {
    const { frame, nextSeq, answer } = waiting.suspension;
    if (answer === undefined) {
      const host = this.#resumeHost(run, frame.identity, nextSeq);
      return reported((await resumeScript(this.#harness.services(), waiting, decisions, host)).outcome, run);
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
    if ('outcome' in waiting) yield* this.#refusalEvents(reported(waiting.outcome, run), run);
    else yield* this.#resumeAnswer(waiting, decisions, run, () => {});
  }

  async decide(scriptId: string, decisions: Decisions, run: Pick<ResumeOptions, 'principal'>): Promise<Decided> {
    const waiting = await this.#findWaitingScript(scriptId, decisions, run, 'decide');
    if ('outcome' in waiting) return { ok: false, error: errorOf(waiting.outcome) };
    const decided = await decideScript(this.#harness.services(), waiting, decisions);
    return 'outcome' in decided ? { ok: false, error: errorOf(decided.outcome) } : { ok: true, ...decided };
  }

  async recover(scriptId: string, run: ResumeOptions): Promise<Outcome> {
    let found: Recoverable | RunEnd = await findRecoverable(this.#harness.services(), scriptId, run);
    if ('outcome' in found) return reported(found.outcome, run);
    const refusal = this.#refusalToResume('recorded' in found ? found.recorded : found.suspension.frame);
    if (refusal !== undefined) return reported(failedOutcome(refusal, scriptId), run);
    if ('recorded' in found) {
      const { threadId } = found.recorded.identity;
      const host = this.#resumeHost(run, runIdentity({ threadId }));
      if (found.recorded.ended !== undefined)
        return reported((await reportEnd(this.#harness.services(), scriptId, found.recorded, host)).outcome, run);
      found = await recoverScript(this.#harness.services(), scriptId, host, run);
    }
    return 'outcome' in found ? reported(found.outcome, run) : this.#resumeOpened(found, {}, run);
  }

  async inspect(scriptId: string, principal: string | undefined): Promise<KeptScriptDetails | undefined> {
    const details = await inspectScript(this.#harness.services(), scriptId);
    // defence: inspect-asks-for-the-principal
    return details !== undefined && details.principal !== principal ? undefined : details;
  }

  async replay(scriptId: string, run: Pick<ResumeOptions, 'signal' | 'onEvent' | 'principal'>): Promise<Outcome> {
    const host = this.#resumeHost({ ...run, approvals: 'deny' }, runIdentity({}));
    return (await replayScript(this.#harness.services(), scriptId, { ...host, ceilings: {} }, run.principal)).outcome;
  }

  #resumeHost(run: ResumeOptions, identity: RunIdentity, nextSeq = 0): ResumeHost {
    const ceilings = this.#ceilings(run);
    return {
      approvals: run.approvals ?? this.#harness.approvals,
      approvalExpiryMs: ceilings.approvalTimeoutMs,
      ceilings,
      app: run.app,
      signal: run.signal,
      identity,
      sink: sinkOf(this.#harness.onEvent, run, identity, nextSeq),
      item: run.item,
      inAnswer: false,
    };
  }

  /** Returns the maximum limits of resumed scripts: the limits that the harness or the resume sets explicitly. */
  #ceilings(run: ResumeOptions): Partial<LimitsInput> {
    const ceilings = { ...this.#harness.hostLimits, ...run.limits };
    resolveLimits(ceilings, undefined);
    return ceilings;
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

  async #findResumable(target: string, decisions: Decisions, run: ResumeOptions): Promise<WaitingScript | RunEnd> {
    const waiting = await this.#findWaiting(target, decisions, run);
    if ('outcome' in waiting) return waiting;
    const refusal = this.#refusalToResume(waiting.suspension.frame);
    return refusal === undefined ? waiting : { outcome: failedOutcome(refusal, waiting.suspension.header.scriptId) };
  }

  /** Finds the script to resume: by its suspension, or by its id in the store or in the memory of this harness. */
  async #findWaiting(target: string, decisions: Decisions, run: ResumeOptions): Promise<WaitingScript | RunEnd> {
    if (typeof target !== 'string')
      throw new ToolscriptUsageError('resume needs the suspension, or the id of a script in the store, as a string.');
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
  ): Promise<WaitingScript | RunEnd> {
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
      const end = await resumeScript(this.#harness.services(), waiting, decisions, host, onClaimed);
      onOutcome(end.outcome);
      // If the script is suspended again, it is reported at the end of the answer, with its suspension.
      if (end.pending === undefined) reported(end.outcome, run);
      return end;
    };
    return playRest(first, answer, this.#harness.textRun(again, how));
  }

  /** Yields the events of a run that ends at once because its suspension cannot be resumed. */
  *#refusalEvents(outcome: Outcome, run: RunOptions): Generator<StreamEvent, void, undefined> {
    const events: StreamEvent[] = [];
    const listeners = [(event: StreamEvent) => void events.push(event), this.#harness.onEvent, run.onEvent];
    emitRefusal(outcome, new EventStream(runIdentity({}), listeners));
    yield* events;
  }
}

function reported(outcome: Outcome, { onOutcome }: Pick<ResumeOptions, 'onOutcome'>): Outcome {
  onOutcome?.(outcome);
  return outcome;
}

function errorOf(outcome: Outcome): ScriptFailure {
  return outcome.status === 'failed' ? outcome.error : scriptFailure('SuspensionError', 'The script was resumed.');
}
