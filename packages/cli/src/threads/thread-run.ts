import type { ApprovalRequest } from '@toolscript/core';
import {
  EventEnvelopes,
  type EventPayload,
  type Run,
  type ServiceStores,
  type StreamEvent,
} from '@toolscript/core/protocol';
import { visible } from '../terminal/untrusted.js';
import { endRun, missingEnd } from './run-end.js';
import { LEASE_MS } from './run-owner.js';

/** Deltas wait that long for further ones, so that they are written together, in ms. */
const COALESCE_MS = 20;

const RENEW_MS = LEASE_MS / 3;

export interface ThreadRunSettings {
  readonly stores: ServiceStores;
  /** This process holds it. */
  readonly run: Run;
  /** Where its events continue. */
  readonly nextSeq: number;
  /** The model is given nothing of the run's input: nobody said it. */
  readonly hasNoPrompt: boolean;
  /** Reports, once, that what happens from here on is not kept. */
  readonly onLost: (message: string) => void;
}

/** A run that this process holds: its lease is renewed, and its events are stored in order as they come. */
export class ThreadRun {
  readonly run: Run;
  readonly nextSeq: number;
  readonly #settings: ThreadRunSettings;
  readonly #envelopes: EventEnvelopes;
  readonly #controller = new AbortController();
  readonly #events: StreamEvent[] = [];
  readonly #renewing: NodeJS.Timeout;
  #unwritten: StreamEvent[] = [];
  #writing: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #isLost = false;

  constructor(settings: ThreadRunSettings) {
    const { run, nextSeq } = settings;
    this.#settings = settings;
    this.run = run;
    this.nextSeq = nextSeq;
    this.#envelopes = new EventEnvelopes(run, nextSeq);
    this.#renewing = setInterval(() => void this.#renew(), RENEW_MS).unref();
  }

  /** Aborts when another process has the run, or somebody has asked for its cancellation. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** What happens is not kept any more. */
  get isLost(): boolean {
    return this.#isLost;
  }

  take(event: StreamEvent): void {
    const { payload } = event;
    if (this.#settings.hasNoPrompt && this.#envelopes.nextSeq === 0) {
      this.#store({ type: 'response_start', input: [] }, event);
      if (payload.type === 'response_start') return;
    }
    this.#store(payload, event);
  }

  /** Ends or suspends the run as its events say. `requests`: what it waits for. */
  async end(requests: readonly ApprovalRequest[]): Promise<void> {
    clearInterval(this.#renewing);
    for (const payload of missingEnd(this.#events, 'failed')) this.#store(payload);
    await this.#flush();
    if (this.#isLost) return;
    const { stores } = this.#settings;
    try {
      await endRun(stores, this.#fence, this.#events, requests);
    } catch (error) {
      this.#lose(error);
    }
  }

  get #fence() {
    return { runId: this.run.runId, epoch: this.run.epoch };
  }

  /** Under the run's own names and numbers: a recovered script's events come with others. */
  #store(payload: EventPayload, { timestamp = Date.now(), trace }: Partial<StreamEvent> = {}): void {
    const event = { ...this.#envelopes.next(payload), timestamp, ...(trace === undefined ? {} : { trace }) };
    this.#events.push(event);
    this.#unwritten.push(event);
    if (payload.type === 'item_delta') this.#timer ??= setTimeout(() => void this.#flush(), COALESCE_MS);
    else void this.#flush();
  }

  #flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  async #write(): Promise<void> {
    const events = this.#unwritten;
    this.#unwritten = [];
    if (events.length === 0 || this.#isLost) return;
    try {
      await this.#settings.stores.threads.append(events, { epoch: this.run.epoch });
    } catch (error) {
      this.#lose(error);
    }
  }

  async #renew(): Promise<void> {
    try {
      const { isHeld, isCancelRequested } = await this.#settings.stores.runs.renew(this.#fence, LEASE_MS);
      if (!isHeld) this.#lose(undefined);
      if (isCancelRequested) this.#controller.abort();
    } catch {
      // The next write says it.
    }
  }

  /** `undefined`, or a stale epoch: another process has the run. */
  #lose(error: unknown): void {
    if (this.#isLost) return;
    this.#isLost = true;
    clearInterval(this.#renewing);
    const isTaken = !(error instanceof Error) || error.name === 'StaleEpochError' || error.name === 'NotFoundError';
    if (isTaken) this.#controller.abort();
    this.#settings.onLost(
      isTaken
        ? 'Another process has taken this conversation over, or has deleted it. What runs here is stopped and not kept.'
        : `${visible(error.message)} What is said from here on is not kept.`,
    );
  }
}
