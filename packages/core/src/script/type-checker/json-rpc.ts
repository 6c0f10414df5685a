import type { Readable, Writable } from 'node:stream';

/**
 * JSON-RPC 2.0 in frames of `Content-Length`, as language servers use it. Both sides may send requests; those of the
 * other side are answered at once.
 */
export class JsonRpc {
  readonly #output: Writable;
  readonly #answer: (method: string, parameter: unknown) => unknown;
  readonly #frames = new FrameReader();
  readonly #waiting = new Map<number, Waiting>();
  #nextId = 1;
  #failure: Error | undefined;
  #isGathering = false;

  constructor(input: Readable, output: Writable, answer: (method: string, parameter: unknown) => unknown) {
    this.#output = output;
    this.#answer = answer;
    input.on('data', (chunk: Buffer) => this.#receive(chunk));
    // A broken pipe is reported by the end of the process.
    input.on('error', () => {});
    output.on('error', () => {});
  }

  /** Rejects if the other side answers with an error, or is gone. */
  request<Result>(method: string, parameters: unknown): Promise<Result> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const id = this.#nextId++;
    return new Promise<unknown>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#send({ id, method, params: parameters });
    }) as Promise<Result>;
  }

  /** The other side is gone: rejects all pending and future requests. */
  fail(error: Error): void {
    this.#failure ??= error;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of waiting) reject(this.#failure);
  }

  #receive(chunk: Buffer): void {
    try {
      for (const text of this.#frames.read(chunk)) this.#take(JSON.parse(text) as Message);
    } catch (error) {
      this.fail(new Error(`the type checker violates JSON-RPC: ${String(error)}`));
    }
  }

  #take(message: Message): void {
    if (message.method !== undefined) {
      const result = this.#answer(message.method, message.params) ?? null;
      if (message.id !== undefined) this.#send({ id: message.id, result });
      return;
    }
    const waiting = this.#waiting.get(message.id as number);
    this.#waiting.delete(message.id as number);
    if (message.error === undefined) waiting?.resolve(message.result);
    else waiting?.reject(new Error(message.error.message));
  }

  /**
   * Joins the messages of one turn into one write: each write wakes the other process, which costs more than the
   * rest.
   */
  #send(message: object): void {
    if (!this.#isGathering) {
      this.#isGathering = true;
      this.#output.cork();
      process.nextTick(() => {
        this.#isGathering = false;
        this.#output.uncork();
      });
    }
    const body = JSON.stringify({ jsonrpc: '2.0', ...message });
    this.#output.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  }
}

interface Waiting {
  resolve: (result: unknown) => void;
  reject: (error: Error) => void;
}

interface Message {
  id?: number | string;
  method?: string;
  params?: unknown;
  result?: unknown;
  error?: { message: string };
}

const HEAD_END = '\r\n\r\n';

/** Splits a stream of bytes into the bodies of its frames. */
class FrameReader {
  #bytes: Buffer = Buffer.alloc(0);

  *read(chunk: Buffer): Iterable<string> {
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk]);
    for (;;) {
      const headEnd = this.#bytes.indexOf(HEAD_END);
      if (headEnd < 0) return;
      const length = /^content-length: *(\d+)/imu.exec(this.#bytes.toString('latin1', 0, headEnd))?.[1];
      if (length === undefined) throw new Error('a frame without a length');
      const start = headEnd + HEAD_END.length;
      const end = start + Number(length);
      if (this.#bytes.length < end) return;
      yield this.#bytes.toString('utf8', start, end);
      this.#bytes = this.#bytes.subarray(end);
    }
  }
}
