import {
  eventId,
  RunInterruption,
  type EventPayload,
  type RunIdentity,
  type StreamEvent,
  type Usage,
} from '../../protocol/index.js';
import { present } from '../../protocol/json.js';
import { FinalText } from '../final-text.js';
import { HarmlessScripts } from '../harmless-scripts.js';
import { spentIn } from '../spent.js';
import type { AgentScope } from '../sub-agent-host.js';

/** The status of a sub-agent: `running`, or how it ended. */
export type ChildStatus = 'running' | 'completed' | 'incomplete' | 'failed' | 'cancelled';

/** The state or result of a sub-agent, as scripts read it. */
export interface ChildReport {
  runId: string;
  agent: string;
  status: ChildStatus;
  /** The text of the last answer. */
  answer?: string | undefined;
  /** The answer as a JSON value that fits the schema. */
  value?: unknown;
  /** The reason why the sub-agent did not complete. */
  problem?: string | undefined;
  usage: { inputTokens: number; outputTokens: number; calls: number; cost?: number | undefined };
}

/** The stored facts of a sub-agent: its `agent_start`. */
export type AgentStart = Extract<EventPayload, { type: 'agent_start' }>;

/** Runs a sub-agent: starts it, or resumes it from its events. */
export interface ChildPlayer {
  begin(signal: AbortSignal): AsyncIterable<StreamEvent>;
  continue(events: readonly StreamEvent[], signal: AbortSignal): AsyncIterable<StreamEvent>;
  /** Resumes a suspended sub-agent with the decisions that its parent has received. */
  resume(events: readonly StreamEvent[], signal: AbortSignal): AsyncIterable<StreamEvent>;
}

interface ChildSettings {
  readonly scope: AgentScope;
  readonly start: AgentStart;
  /** The events that an earlier process stored. */
  readonly earlier: readonly StreamEvent[];
  /** Returns true if the sub-agent must stop as after a crash of its process. */
  readonly isInterrupted: () => boolean;
  /** Called when the sub-agent waits for decisions: the calls that wait for the sub-agent may have to be suspended. */
  readonly onWaiting: () => void;
}

/** Events that a later process does not need, because the end of the item or `request_done` repeats them. */
const NOT_STORED = ['item_delta', 'usage_update'];

/** One sub-agent. Its events are stored as events of the run that launched it. */
export class ChildRun {
  readonly start: AgentStart;
  readonly identity: RunIdentity;
  readonly #settings: ChildSettings;
  readonly #events: StreamEvent[];
  readonly #stop = new AbortController();
  #isOver = false;
  #work: Promise<void> | undefined;
  #cancelReason: string | undefined;
  #onCancelled = (): void => {};
  readonly #cancellation = new Promise<void>((resolve) => (this.#onCancelled = resolve));
  /** The number of events whose usage was counted. */
  #countedEvents: number;
  #player: ChildPlayer | undefined;

  constructor(settings: ChildSettings) {
    const { start, scope, earlier } = settings;
    const { threadId, turnId, runId } = scope.identity;
    this.start = start;
    this.identity = { runId: start.agent_run_id, threadId, turnId, parentRunId: runId };
    this.#settings = settings;
    this.#events = [...earlier];
    this.#countedEvents = earlier.length;
  }

  /** Whether the sub-agent has ended. */
  get isOver(): boolean {
    return !this.isWaiting && (this.#isOver || this.#last?.type === 'response_done');
  }

  /** Whether the sub-agent is suspended until decisions about its approvals arrive. */
  get isWaiting(): boolean {
    return this.#last?.type === 'response_done' && this.#last.status === 'suspended';
  }

  /** The ids of the approvals that the sub-agent waits for. */
  get approvalIds(): readonly string[] {
    return this.isWaiting && this.#last?.type === 'response_done' ? (this.#last.approval_ids ?? []) : [];
  }

  /** Starts or resumes the sub-agent. `onEnd` is called when it has ended, is suspended, or is interrupted. */
  run(player: ChildPlayer, onEnd: () => void): void {
    this.#player = player;
    this.#work ??= this.#play(player).then(() => {
      onEnd();
      if (this.isWaiting && !this.#isLeft) this.#settings.onWaiting();
    });
  }

  get isWorking(): boolean {
    return this.#work !== undefined;
  }

  /** Resolves when the sub-agent has ended, is suspended, or is interrupted. */
  get untilStopped(): Promise<void> {
    return this.#work ?? Promise.resolve();
  }

  /** Resolves when the sub-agent has ended or is interrupted, or the signal aborts. */
  async whenOver(signal: AbortSignal): Promise<void> {
    const aborted = new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', () => resolve(), { once: true });
    });
    await Promise.race([this.untilStopped, aborted]);
    // A suspended sub-agent does not resume while its parent runs. Either it is cancelled, or the parent is suspended.
    if (!signal.aborted && this.isWaiting) {
      await Promise.race([this.#cancellation, aborted]);
      await Promise.race([this.untilStopped, aborted]);
    }
  }

  cancel(reason: string): void {
    if (this.isOver || this.#isLeft) return;
    this.#cancelReason ??= reason;
    this.#stop.abort();
    // A cancelled sub-agent that was suspended resumes only to end, so that its suspended script does not stay in the
    // store.
    if (this.isWaiting && this.#player !== undefined) this.#work = this.#play(this.#player);
    this.#onCancelled();
  }

  /** Ends the sub-agent together with its parent. */
  end(): void {
    if (this.isOver) return;
    if (this.isWorking || this.isWaiting) return this.cancel('The run that launched the sub-agent has ended.');
    this.#fail(
      new Error(
        'The process ended while this sub-agent worked, and the call that launched it did not continue. Check its effects before you launch it again.',
      ),
    );
    this.#isOver = true;
  }

  /** Interrupts the sub-agent. The process that resumes the parent also resumes the sub-agent. */
  interrupt(): void {
    this.#stop.abort(new RunInterruption());
  }

  async #play(player: ChildPlayer): Promise<void> {
    const { scope, start } = this.#settings;
    const { ends_at: endsAt } = start.budget;
    const timer = endsAt === undefined ? undefined : setTimeout(() => this.cancel(TIME_IS_UP), timeTo(endsAt));
    const signal = AbortSignal.any([scope.signal, this.#stop.signal]);
    try {
      if (this.#last === undefined) await this.#take(player.begin(signal));
      else if (this.isWaiting) await this.#take(player.resume(this.#events, signal));
      else if (this.#last.type !== 'response_done') await this.#take(player.continue(this.#events, signal));
    } catch (error) {
      this.#fail(error);
    } finally {
      clearTimeout(timer);
      this.#isOver = !this.#isLeft && !this.isWaiting;
      if (this.#isLeft) this.#restartLater();
    }
  }

  async #take(events: AsyncIterable<StreamEvent>): Promise<void> {
    for await (const { payload } of events) this.#record(payload);
  }

  #record(payload: EventPayload): void {
    // Events of an interrupted run are dropped: the run continues from its last stored event.
    if (!this.#isLeft && !NOT_STORED.includes(payload.type)) this.#store(payload);
  }

  /** Makes the scripts that have made only reads restart when the sub-agent resumes. All of their events are stored. */
  #restartLater(): void {
    const scripts = new HarmlessScripts();
    for (const payload of this.#payloads) scripts.take(payload);
    for (const payload of scripts.restarts) this.#store(payload);
  }

  #store(payload: EventPayload): void {
    const timestamp = Date.now();
    const seq = this.#events.length;
    const { runId, threadId, turnId } = this.identity;
    const envelope = { event_id: eventId(runId, seq), run_id: runId, thread_id: threadId, turn_id: turnId };
    this.#events.push({ ...envelope, seq, timestamp, payload });
    this.#settings.scope.emit({ type: 'agent_event', agent_run_id: runId, seq, timestamp, event: payload });
  }

  #fail(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    this.#record({ type: 'response_error', code: 'SubAgentError', message });
    this.#record({ type: 'response_done', status: 'failed' });
  }

  get #isLeft(): boolean {
    return this.#stop.signal.reason instanceof RunInterruption || this.#settings.isInterrupted();
  }

  get #last(): EventPayload | undefined {
    return this.#events.at(-1)?.payload;
  }

  get #payloads(): EventPayload[] {
    return this.#events.map(({ payload }) => payload);
  }

  get #answer(): string {
    const text = new FinalText();
    for (const payload of this.#payloads) if (payload.type === 'item_done') text.take(payload.final_item);
    return text.text.trim();
  }

  /**
   * The usage of the sub-agent in this process since the last call of this method, including the usage of its own
   * sub-agents.
   */
  spentHere(): { usage: Usage | undefined; cost: number | undefined } {
    const { usage, cost } = spentIn(this.#payloads.slice(this.#countedEvents));
    this.#countedEvents = this.#events.length;
    return { usage, cost: cost === 0 ? undefined : cost };
  }

  /** Whether the sub-agent has read text of unknown authors, so that its answer may contain such text. */
  get hasReadUntrusted(): boolean {
    const isRead = (payload: EventPayload) => payload.type === 'item_done' && payload.final_item['untrusted'] === true;
    return this.start.untrusted === true || this.#payloads.some(isRead);
  }

  report(): ChildReport {
    const { usage, cost, calls } = spentIn(this.#payloads);
    const { agent_run_id: runId, agent } = this.start;
    const { input_tokens: inputTokens, output_tokens: outputTokens } = usage ?? { input_tokens: 0, output_tokens: 0 };
    const used = { inputTokens, outputTokens, calls, cost: cost === 0 ? undefined : cost };
    return { runId, agent, ...this.#result(), usage: used };
  }

  #result(): Pick<ChildReport, 'status' | 'answer' | 'value' | 'problem'> {
    if (!this.isOver) return { status: 'running' };
    const done = this.#payloads.findLast((payload) => payload.type === 'response_done');
    const status = done?.type === 'response_done' && done.status !== 'suspended' ? done.status : 'failed';
    const answer = this.#answer === '' ? {} : { answer: this.#answer };
    const { incomplete_reason: reason, output: value } = done?.type === 'response_done' ? done : {};
    if (status === 'completed') return { status, ...answer, ...present({ value }) };
    return { status, ...answer, problem: this.#problem(status, reason) };
  }

  #problem(status: ChildStatus, reason: string | undefined): string {
    if (status === 'cancelled') return this.#cancelReason ?? 'The sub-agent was cancelled.';
    if (status === 'incomplete')
      return `The sub-agent ended before it was done: ${reason ?? 'other'}. Change its task, or raise its budget.`;
    const error = this.#payloads.findLast((payload) => payload.type === 'response_error');
    return error?.type === 'response_error' ? `${error.code}: ${error.message}` : 'The sub-agent failed.';
  }
}

const TIME_IS_UP =
  'The time of the sub-agent is up (budget.timeMs, or the time of its parent). Give it a smaller task.';

function timeTo(endsAt: number): number {
  return Math.min(2 ** 31 - 1, Math.max(0, endsAt - Date.now()));
}
