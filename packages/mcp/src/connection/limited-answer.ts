import { jsonTextProblem, MESSAGE_LIMITS } from '@toolscript/core/internal';

/** Maximum bytes of one message of a server. */
export const MAX_MESSAGE_BYTES = 10 * 1024 * 1024;

const NEWLINE = 0x0a;
const RETURN = 0x0d;

/** Throws for a message that would cost too much to parse. */
export function checkMessage(text: string): void {
  const problem = jsonTextProblem(text, MESSAGE_LIMITS);
  // defence: mcp-messages-are-measured-before-parsing
  if (problem !== undefined) throw new Error(`the server sent a message that ${problem}, the maximum`);
}

/**
 * The answer, with an error for a body or an event of a stream that is too large, before anyone parses it. `rewrite`:
 * returns the text of a message that replaces the server's text.
 */
export function limitedAnswer(answer: Response, rewrite: (text: string) => string = (text) => text): Response {
  const { body, headers } = answer;
  if (body === null) return answer;
  const isStream = headers.get('content-type')?.trim().toLowerCase().startsWith('text/event-stream') === true;
  return new Response(body.pipeThrough(isStream ? limitedEvents(rewrite) : limitedBody(rewrite)), answer);
}

type Bytes = Uint8Array<ArrayBuffer>;

/** The bytes of one message, until it has ended and is checked. */
export class PartialMessage {
  #chunks: Uint8Array[] = [];
  #bytes = 0;

  add(chunk: Uint8Array): void {
    this.#bytes += chunk.length;
    if (this.#bytes > MAX_MESSAGE_BYTES)
      throw new Error(`the server sent a message of more than ${MAX_MESSAGE_BYTES} bytes, the maximum`);
    this.#chunks.push(chunk);
  }

  /** The bytes, which this message then no longer has. */
  take(): Buffer {
    const all = Buffer.concat(this.#chunks);
    this.#chunks = [];
    this.#bytes = 0;
    return all;
  }
}

function limitedBody(rewrite: (text: string) => string): TransformStream<Bytes, Bytes> {
  const message = new PartialMessage();
  return new TransformStream({
    transform: (chunk) => message.add(chunk),
    flush(controller) {
      const body = message.take();
      const text = body.toString('utf8');
      checkMessage(text);
      const rewritten = rewrite(text);
      controller.enqueue(new Uint8Array(rewritten === text ? body : Buffer.from(rewritten)));
    },
  });
}

/** An empty line ends an event. */
function limitedEvents(rewrite: (text: string) => string): TransformStream<Bytes, Bytes> {
  const event = new PartialMessage();
  let isEmptyLine = true;
  const ended = () => {
    const bytes = event.take();
    const text = bytes.toString('utf8');
    const all = eventsIn(text);
    for (const { data } of all) checkMessage(data);
    const rewritten = all.map(({ fields, data }) => ({ fields, data: rewrite(data) }));
    return rewritten.every(({ data }, index) => data === all[index]!.data)
      ? bytes
      : Buffer.from(rewritten.map(eventText).join(''));
  };
  return new TransformStream({
    transform(chunk, controller) {
      const events: Buffer[] = [];
      let added = 0;
      let start = 0;
      for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
        if (isEmptyLine && isBlank(chunk, start, end)) {
          event.add(chunk.subarray(added, end + 1));
          events.push(ended());
          added = end + 1;
        }
        isEmptyLine = true;
        start = end + 1;
      }
      isEmptyLine &&= isBlank(chunk, start, chunk.length);
      event.add(chunk.subarray(added));
      if (events.length > 0) controller.enqueue(new Uint8Array(Buffer.concat(events)));
    },
    flush: (controller) => controller.enqueue(new Uint8Array(ended())),
  });
}

/** The other fields of an event as lines, and its data. */
interface ServerEvent {
  readonly fields: readonly string[];
  readonly data: string;
}

/** The events of a text: usually one, but several if a server ends lines with a mere return. */
function eventsIn(text: string): ServerEvent[] {
  const all: ServerEvent[] = [];
  let fields: string[] = [];
  let data = '';
  for (const line of text.split(/\r\n|\r|\n/u)) {
    if (line.startsWith('data:')) data += line.slice('data:'.length);
    else if (line !== '') fields.push(line);
    if (line !== '') continue;
    all.push({ fields, data });
    [fields, data] = [[], ''];
  }
  return [...all, { fields, data }];
}

function eventText({ fields, data }: ServerEvent): string {
  const lines = data === '' ? fields : [...fields, `data: ${data}`];
  return lines.length === 0 ? '' : `${lines.join('\n')}\n\n`;
}

function isBlank(chunk: Uint8Array, start: number, end: number): boolean {
  return start === end || (start + 1 === end && chunk[start] === RETURN);
}
