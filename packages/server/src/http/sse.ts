import type { FastifyReply } from 'fastify';
import type { Defined } from '@toolscript/core/internal';
import type { StreamEvent } from '@toolscript/core/protocol';

/** The interval between heartbeats of a stream, in ms. */
const HEARTBEAT_MS = 15_000;

/**
 * Default time after which the server disconnects a client that reads nothing, in ms. The client can resume the stream
 * of a run with `Last-Event-ID`.
 */
const STALL_MS = 30_000;

/**
 * Approximate maximum size of one write, in characters. Events that are available at the same time are sent in one
 * write.
 */
const MAX_CHUNK = 64 * 1024;

export interface EventStreamOptions {
  /** Aborted when the client disconnects or the server closes. */
  readonly controller: AbortController;
  /** Called before a client that reads too slowly is disconnected. */
  readonly onDropped?: (() => void) | undefined;
  /** Replaces `HEARTBEAT_MS`. */
  readonly heartbeatMs?: number | undefined;
  /** Replaces `STALL_MS`. */
  readonly stallMs?: number | undefined;
}

/**
 * Sends events as server-sent events until the events end or the client has disconnected. A slow client uses the memory
 * of at most about two chunks, because the function stops reading events until the client has read the earlier ones.
 */
export function sendEvents(
  reply: FastifyReply,
  events: AsyncIterable<StreamEvent>,
  options: EventStreamOptions,
): Promise<void> {
  return sendFrames(reply, sseFrames(events), options);
}

async function* sseFrames(events: AsyncIterable<StreamEvent>): AsyncGenerator<string> {
  for await (const event of events) yield sseFrame(event);
}

/** Like `sendEvents`, for events that are already formatted as frames, or as parts of frames. */
export async function sendFrames(
  reply: FastifyReply,
  frames: AsyncIterable<string>,
  { controller, onDropped = () => {}, heartbeatMs = HEARTBEAT_MS, stallMs = STALL_MS }: EventStreamOptions,
): Promise<void> {
  reply.hijack();
  const { raw } = reply;
  raw.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store, no-transform',
    'x-accel-buffering': 'no',
    'x-content-type-options': 'nosniff',
  });
  raw.flushHeaders();
  const stop = () => controller.abort();
  raw.once('close', stop);
  // A client that has already disconnected emits no further `close` event.
  if (raw.destroyed) stop();
  const writer = new FrameWriter(raw, { onDropped, stallMs });
  const heartbeat = setInterval(() => writer.beat(), heartbeatMs).unref();
  try {
    for await (const frame of frames) await writer.add(frame);
    await writer.flush();
  } finally {
    clearInterval(heartbeat);
    raw.off('close', stop);
    raw.end();
  }
}

function sseFrame(event: StreamEvent): string {
  return `id: ${event.seq}\nevent: ${event.payload.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** Writes frames together if they arrive without a wait between them, and waits for a slow client. */
class FrameWriter {
  readonly #raw: FastifyReply['raw'];
  readonly #options: Defined<Pick<EventStreamOptions, 'onDropped' | 'stallMs'>>;
  #chunk = '';
  #sending: Promise<void> | undefined;
  /** Whether the last write has ended with a frame, and not with a part of one. */
  #isBetweenFrames = true;

  constructor(raw: FastifyReply['raw'], options: Defined<Pick<EventStreamOptions, 'onDropped' | 'stallMs'>>) {
    this.#raw = raw;
    this.#options = options;
  }

  async add(frame: string): Promise<void> {
    this.#chunk += frame;
    this.#sending ??= this.#send();
    if (this.#chunk.length >= MAX_CHUNK || this.#raw.writableNeedDrain) await this.#sending;
  }

  async flush(): Promise<void> {
    await this.#sending;
  }

  beat(): void {
    // defence: heartbeats-between-frames
    if (this.#isBetweenFrames && !this.#raw.writableNeedDrain) this.#raw.write(': alive\n\n');
  }

  async #send(): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve));
    while (this.#chunk !== '' && !this.#raw.destroyed) {
      const chunk = this.#chunk;
      this.#chunk = '';
      this.#isBetweenFrames = chunk.endsWith('\n\n');
      if (!this.#raw.write(chunk)) await this.#untilDrained();
    }
    this.#sending = undefined;
  }

  /**
   * Resolves when the client has read the buffered data, or has disconnected. Disconnects a client that reads too
   * slowly.
   */
  async #untilDrained(): Promise<void> {
    const { onDropped, stallMs } = this.#options;
    const drop = () => {
      onDropped();
      this.#raw.destroy();
    };
    await new Promise<void>((resolve) => {
      const timer = setTimeout(drop, stallMs);
      const end = () => {
        clearTimeout(timer);
        this.#raw.off('drain', end).off('close', end);
        resolve();
      };
      this.#raw.once('drain', end).once('close', end);
    });
  }
}
