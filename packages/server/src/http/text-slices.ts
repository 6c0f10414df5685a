import { setImmediate as nextTurn } from 'node:timers/promises';
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';

/** The length of the text that one turn of the event loop makes, in UTF-16 units; one more part may be above it. */
const MAX_SLICE = 65_536;

/** Joins the parts of a long text to slices, and gives other requests a turn after each slice. */
export async function* textSlices(parts: AsyncIterable<string> | Iterable<string>): AsyncGenerator<string> {
  let slice = '';
  for await (const part of parts) {
    slice += part;
    if (slice.length < MAX_SLICE) continue;
    yield slice;
    slice = '';
    // defence: long-texts-yield
    await nextTurn();
  }
  yield slice;
}

/** Answers with a long text, in slices. The caller registers the reply as an open stream. */
export function sendSlices(
  reply: FastifyReply,
  parts: AsyncIterable<string> | Iterable<string>,
  type = 'application/json; charset=utf-8',
): never {
  return reply
    .type(type)
    .serializer((body: unknown) => body as string)
    .send(Readable.from(textSlices(parts))) as never;
}
