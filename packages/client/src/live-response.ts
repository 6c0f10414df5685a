import { ResponseReducer, type LiveActivity, type Response, type StreamEvent } from '@toolscript/core/stream';

/** The growing response of a run. An iteration yields the response after each change, and ends with the run. */
export class LiveResponse implements AsyncIterable<Response> {
  readonly #batches: AsyncIterable<readonly StreamEvent[]>;
  readonly #reducer: ResponseReducer;

  constructor(runId: string, batches: AsyncIterable<readonly StreamEvent[]>) {
    this.#batches = batches;
    this.#reducer = new ResponseReducer({ runId });
  }

  /** The current response. Treat it as read-only. */
  get current(): Response {
    return this.#reducer.response();
  }

  /** The running tool calls and the undecided approvals. */
  get live(): LiveActivity {
    return this.#reducer.live();
  }

  /** Yields the response after each change. Iterate only once. Changes that arrive together yield one response. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Response, void, undefined> {
    for await (const events of this.#batches) {
      for (const event of events) this.#reducer.apply(event);
      yield this.current;
    }
  }

  /** Resolves with the response when the run has ended. */
  async final(): Promise<Response> {
    for await (const _response of this);
    return this.current;
  }
}
