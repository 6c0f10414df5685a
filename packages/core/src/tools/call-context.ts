import type { ToolCallContext } from '../protocol/tools.js';
import type { CallRecord } from './call-record.js';

/** What a tool may say of its call while it runs. */
export interface CallVoice {
  progress(record: CallRecord, message: unknown): void;
  output(record: CallRecord, text: unknown): void;
}

/** What the calls of one script have in common. */
export interface CallSurroundings {
  readonly app: unknown;
  readonly principal: string | undefined;
  readonly scriptId: string | undefined;
  readonly maxOutputBytes: number;
}

/**
 * A tool's view of its call. `signal` is a member of its own, so that a copy of the context has it too, but is
 * made only when it is read: most tools never do. A getter written into each object would cost four times as much.
 */
export class CallContext implements ToolCallContext {
  readonly app: unknown;
  readonly principal: string | undefined;
  declare readonly signal: AbortSignal;
  readonly callId: string;
  readonly scriptId: string | undefined;
  readonly idempotencyKey: string;
  readonly progress: (message: string) => void;
  readonly output: ((text: string) => void) | undefined;
  readonly maxOutputBytes: number;
  readonly #record: CallRecord;

  constructor({ app, principal, scriptId, maxOutputBytes }: CallSurroundings, record: CallRecord, voice: CallVoice) {
    const { callId, callIndex, detached } = record.call;
    this.#record = record;
    this.app = app;
    this.principal = principal;
    this.callId = callId;
    this.scriptId = scriptId;
    this.idempotencyKey = scriptId === undefined ? callId : `${scriptId}:${callIndex}`;
    this.progress = (message) => voice.progress(record, message);
    this.output = detached === true ? (text) => voice.output(record, text) : undefined;
    this.maxOutputBytes = maxOutputBytes;
    Object.defineProperty(this, 'signal', CallContext.#SIGNAL);
  }

  static readonly #SIGNAL: PropertyDescriptor & ThisType<CallContext> = {
    get() {
      return this.#record.signal;
    },
    enumerable: true,
  };
}
