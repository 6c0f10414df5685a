import { putItem } from '../answer/index.js';
import type { OutputItem, ResponseStatus } from '../protocol/index.js';
import { present } from '../protocol/json.js';
import { newId } from '../text/crypto.js';
import type { AgentConfig } from './agent-config.js';
import { failedEnd, incompleteEnd, waitingEnd, type Deciding, type AgentRunState } from './agent-run-state.js';
import { invalidOutput, scriptValue, systemMessage, type FinalOutput, type ReadOutput } from './final-output.js';
import type { HostedCodeWatch } from './hosted-code-watch.js';
import { missingNonce } from './missing-nonce.js';
import { lastSpokenIndex, openCalls } from './open-calls.js';
import type { RunLog } from './run-log.js';
import type { ScriptConditions } from './script-host.js';
import { unrunCalls } from './unrun-calls.js';

export interface NextTurnSettings extends Pick<ScriptConditions, 'harness' | 'log' | 'mode' | 'interruption'> {
  readonly agent: Pick<AgentConfig, 'carrier' | 'finish'>;
  readonly signal: AbortSignal;
  /** The nonce of scripts in the answer's text. Undefined: scripts do not arrive in text. */
  readonly nonce: string | undefined;
  /** The names of the functions that the caller of the run performs. */
  readonly work: { readonly clientFunctions: ReadonlySet<string> };
}

/** Reasons for an incomplete answer that end the run, even if the answer's scripts or calls have results. */
const FINAL_REASONS = ['content_filter', 'context_window', 'refusal'];

/** Maximum consecutive answers after which a model reads that the nonce is missing. */
const MAX_REMINDERS = 2;

/** Decides what follows an answer: another request, or the end of the run. */
export class NextTurn {
  readonly #settings: NextTurnSettings;
  readonly #log: RunLog;
  readonly #hostedCode: HostedCodeWatch;
  readonly #output: FinalOutput | undefined;
  /** The consecutive answers so far whose block had no nonce. */
  #reminders = 0;

  constructor(
    settings: NextTurnSettings,
    { hostedCode, output }: { readonly hostedCode: HostedCodeWatch; readonly output: FinalOutput | undefined },
  ) {
    this.#settings = settings;
    this.#log = settings.log;
    this.#hostedCode = hostedCode;
    this.#output = output;
  }

  /** Returns the state after an answer, and emits what the model must read next. */
  after({ end: { status, reason, error }, hasResults, waiting }: Deciding): AgentRunState {
    if (waiting !== undefined) return waitingEnd(waiting, this.#settings.interruption.isInterrupted);
    if (this.#settings.signal.aborted || status === 'cancelled') return { type: 'done', status: 'cancelled' };
    if (error !== undefined) {
      if (!hasResults && this.#hostedCode.takeFailure(error)) return { type: 'asking' };
      if (!hasResults) return failedEnd(this.#log, error);
      // Scripts and calls that ran keep their results, so the failure ends only the answer.
      this.#log.emit({ type: 'item_error', item_id: newId('item'), ...error });
      return this.#waitsForClient ? { type: 'done', status: 'completed' } : this.#afterResults();
    }
    if (reason !== undefined && FINAL_REASONS.includes(reason)) return this.#finish('incomplete', reason);
    if (hasResults) this.#reminders = 0;
    if (!this.#waitsForClient && hasResults) return this.#afterResults();
    if (!this.#waitsForClient && reason === 'paused') return { type: 'asking' };
    if (status === 'completed' && this.#remindOfNonce()) return { type: 'asking' };
    const advice = status === 'completed' ? this.#unrunCalls() : undefined;
    if (advice !== undefined && this.#hasCorrected) return this.#finish('incomplete', 'unrun_calls');
    if (advice === undefined) return this.#finish(status, reason);
    putItem(this.#log.emit, { ...systemMessage(advice), corrects_calls: true });
    return { type: 'asking' };
  }

  /** The end of a run whose last answer ran nothing. */
  #finish(status: ResponseStatus, reason: string | undefined): AgentRunState {
    const read = this.#waitsForClient ? undefined : this.#output?.read(this.#log.items, reason);
    if (read?.failure !== undefined) return failedEnd(this.#log, read.failure);
    return status === 'incomplete' ? incompleteEnd(reason ?? 'other') : this.#finishWith(read, status);
  }

  /** The model reads the results of its scripts and calls, unless the value of a script is the final answer. */
  #afterResults(): AgentRunState {
    const json = this.#settings.agent.finish === 'script' ? scriptValue(this.#log.items) : undefined;
    if (json === undefined) return { type: 'asking' };
    return this.#finishWith(this.#output === undefined ? { value: JSON.parse(json) } : this.#output.check(json));
  }

  #finishWith(read: ReadOutput | undefined, status: ResponseStatus = 'completed'): AgentRunState {
    if (read?.problem === undefined) return { type: 'done', status, members: present({ output: read?.value }) };
    if (this.#hasRepaired) return failedEnd(this.#log, invalidOutput(read.problem));
    putItem(this.#log.emit, { ...systemMessage(this.#output!.repair(read.problem)), repairs_output: true });
    return { type: 'asking' };
  }

  /** Whether the model has been asked to repair its final answer, also in an earlier part of the run. */
  get #hasRepaired(): boolean {
    return this.#hasSince(({ type, role }) => type === 'message' && role === 'user', 'repairs_output');
  }

  /** Whether the model has been shown the right form of its calls since the last result of a call. */
  get #hasCorrected(): boolean {
    return this.#hasSince(
      ({ type, role }) => (type === 'message' && role === 'user') || type.endsWith('_output'),
      'corrects_calls',
    );
  }

  #hasSince(isStart: (item: OutputItem) => boolean, mark: string): boolean {
    const { items } = this.#log;
    return items.slice(items.findLastIndex(isStart) + 1).some((item) => item[mark] === true);
  }

  /** The advice about calls in the last answer that nothing runs. */
  #unrunCalls(): string | undefined {
    const { harness, nonce, mode, agent } = this.#settings;
    if (this.#waitsForClient || agent.carrier === 'hosted') return undefined;
    const { items } = this.#log;
    const said = items.slice(lastSpokenIndex(items));
    const text = said.map((item) => (item.type === 'message' ? item.content : '')).join('\n\n');
    const type = mode === 'disabled' ? 'functions' : agent.carrier === 'text' ? 'block' : 'tool';
    return unrunCalls(text, {
      form: type === 'block' ? { type, nonce } : { type },
      toolNames: () => harness.tools().map(({ name }) => name),
      wantsJson: this.#output !== undefined,
    });
  }

  /** Reports a block without the nonce in the last answer to the model. Returns false if there is no such block. */
  #remindOfNonce(): boolean {
    const { harness, nonce, mode } = this.#settings;
    if (nonce === undefined || mode === 'disabled' || this.#waitsForClient) return false;
    // defence: reminders-are-few
    if (this.#reminders >= MAX_REMINDERS) return false;
    const { items } = this.#log;
    const reminder = missingNonce(harness, nonce, items.slice(lastSpokenIndex(items)));
    if (reminder === undefined) return false;
    this.#reminders += 1;
    putItem(this.#log.emit, reminder);
    return true;
  }

  /** Whether a call without a result names a function that the caller of the run performs. */
  get #waitsForClient(): boolean {
    const { clientFunctions } = this.#settings.work;
    return openCalls(this.#log.items).some((call) => call.type === 'function_call' && clientFunctions.has(call.name));
  }
}
