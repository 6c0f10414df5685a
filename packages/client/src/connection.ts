import { SseParser, type StreamEvent } from '@toolscript/core/stream';
import { ProblemError, responseProblem } from './problem-error.js';

/** One connection to a stream of server-sent events. The connection fails if nothing arrives for too long. */
export class Connection {
  readonly #controller = new AbortController();
  readonly #signal: AbortSignal | undefined;
  readonly #maxSilenceMs: number;
  readonly #abort = () => this.close();
  #silence: ReturnType<typeof setTimeout> | undefined;

  /** The connection closes when `signal` aborts. */
  constructor(signal: AbortSignal | undefined, maxSilenceMs: number) {
    this.#maxSilenceMs = maxSilenceMs;
    this.#signal = signal;
    signal?.addEventListener('abort', this.#abort, { once: true });
  }

  /**
   * Opens the stream. Returns undefined if the run has no more events. Throws a `ProblemError` if the server refuses
   * the request, or if the answer is no event stream.
   */
  async open(request: (signal: AbortSignal) => Promise<Response>): Promise<Response | undefined> {
    this.#listen();
    const response = await request(this.#controller.signal);
    this.#hear();
    if (response.status === 204) return undefined;
    if (!response.ok) throw responseProblem(response, await response.json().catch(() => undefined));
    const type = response.headers.get('content-type') ?? '';
    if (type.startsWith('text/event-stream')) return response;
    const detail = `The answer is not an event stream but "${type}". Set baseUrl to the address of a Toolscript server.`;
    throw new ProblemError({ type: 'about:blank', title: 'No stream', status: response.status, detail });
  }

  /** Yields the events of each chunk. A heartbeat has none. */
  async *read({ body }: Response): AsyncGenerator<readonly StreamEvent[], void, undefined> {
    if (body === null) return;
    const reader = body.getReader();
    const decoder = new TextDecoder();
    const parser = new SseParser();
    for (;;) {
      this.#listen();
      const { value, done } = await reader.read();
      this.#hear();
      if (done) return;
      const found = parser.push(decoder.decode(value, { stream: true }));
      yield found.map(({ data }) => JSON.parse(data) as StreamEvent);
    }
  }

  /** Closes the connection. A second call does nothing. */
  close(): void {
    this.#hear();
    this.#signal?.removeEventListener('abort', this.#abort);
    this.#controller.abort();
  }

  #listen(): void {
    const error = new Error(
      `The server has sent nothing for ${this.#maxSilenceMs} ms. Check the network and the server.`,
    );
    this.#silence = setTimeout(() => this.#controller.abort(error), this.#maxSilenceMs);
  }

  #hear(): void {
    clearTimeout(this.#silence);
  }
}
