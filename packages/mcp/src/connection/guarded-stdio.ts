import type { ChildProcess } from 'node:child_process';
import type { Writable } from 'node:stream';
import { StdioClientTransport, type StdioServerParameters } from '@modelcontextprotocol/client/stdio';
import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { withLongIntegers } from '../tools/long-integers.js';
import type { CallAnswers } from './call-answers.js';
import { checkMessage, PartialMessage } from './limited-answer.js';
import { oneLine } from './readable.js';

/** Maximum number of lines on standard output that are not messages. Some programs print a few. */
const MAX_JUNK_LINES = 1_000;
const MAX_SHOWN = 200;
/** Maximum characters kept from the end of the error output. */
const STDERR_TAIL = 2_000;
const NEWLINE = 0x0a;
const BRACE = 0x7b;

/**
 * The SDK's connection to a program. It ends a program that floods its standard output with text, and reports how the
 * program ended. The SDK itself parses every line, and reports neither the text nor the exit code. A line that would
 * cost too much to parse ends the connection.
 */
export class GuardedStdio extends StdioClientTransport {
  #junkLines = 0;
  #firstJunk = '';
  #end = '';
  #isInLine = false;
  readonly #line = new PartialMessage();
  readonly #answers: CallAnswers;
  #stderr = '';

  constructor(server: StdioServerParameters, answers: CallAnswers) {
    super(server);
    this.#answers = answers;
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the transport emits no events
    this.onerror = () => this.#countJunk(this.#child());
    this.#rewriteLines();
    // The error output is read, so that a server with much output is never blocked.
    this.stderr?.on('data', (chunk: Buffer) => {
      this.#stderr = (this.#stderr + chunk.toString('utf8')).slice(-STDERR_TAIL);
    });
  }

  /**
   * The text on standard output that is not a message, as the end of a sentence; undefined if there is no such text.
   */
  get junk(): string | undefined {
    if (this.#junkLines > MAX_JUNK_LINES) return 'it floods its standard output with text that is not an MCP message';
    return this.#firstJunk === ''
      ? undefined
      : `it wrote text to its standard output that is not an MCP message: ${this.#firstJunk}`;
  }

  /** The end of the program's error output. */
  get errorOutput(): string {
    return this.#stderr;
  }

  /**
   * The exit code or signal of the program, as the end of a sentence, such as `, with exit code 1`; empty while the
   * program runs.
   */
  get end(): string {
    return this.#end;
  }

  override start(): Promise<void> {
    const starting = super.start();
    const child = this.#child();
    if (child?.stdin) writeLongIntegers(child.stdin);
    child?.stdout?.prependListener('data', (chunk: Buffer) => this.#look(chunk, child));
    child?.once('exit', (code, signal) => {
      this.#end = signal === null ? `, with exit code ${code}` : `, by ${signal}`;
    });
    return starting;
  }

  override send(message: JSONRPCMessage): Promise<void> {
    this.#answers.sent(message);
    return super.send(message);
  }

  /**
   * Gives the SDK only whole lines. The SDK keeps its buffer in a private member, and closes the connection if the
   * buffer refuses a chunk.
   */
  #rewriteLines(): void {
    const buffer = (this as unknown as { _readBuffer: { append(chunk: Buffer): void } })._readBuffer;
    const append = buffer.append.bind(buffer);
    buffer.append = (chunk) => {
      let start = 0;
      for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
        this.#line.add(chunk.subarray(start, end));
        const text = this.#line.take().toString('utf8');
        checkMessage(text);
        append(Buffer.from(`${this.#answers.enveloped(text)}\n`));
        start = end + 1;
      }
      this.#line.add(chunk.subarray(start));
    };
  }

  /** The SDK keeps the process in a private member. */
  #child(): ChildProcess | undefined {
    return (this as unknown as { _process?: ChildProcess | undefined })._process;
  }

  /** Looks for lines on standard output that are not messages: every message is an object on one line. */
  #look(chunk: Buffer, child: ChildProcess): void {
    for (let at = 0; at < chunk.length;) {
      const end = chunk.indexOf(NEWLINE, at);
      const stop = end === -1 ? chunk.length : end;
      if (!this.#isInLine && stop > at && chunk[at] !== BRACE) {
        if (this.#firstJunk === '') this.#firstJunk = oneLine(chunk.toString('utf8', at, stop), MAX_SHOWN);
        this.#countJunk(child);
      }
      this.#isInLine = end === -1;
      at = stop + 1;
    }
  }

  #countJunk(child: ChildProcess | undefined): void {
    this.#junkLines += 1;
    if (this.#junkLines !== MAX_JUNK_LINES + 1) return;
    // defence: mcp-junk-is-limited
    endAtOnce(child);
  }
}

/** The SDK writes each message as one text. */
function writeLongIntegers(stdin: Writable): void {
  const write = stdin.write.bind(stdin) as (text: string, ...rest: unknown[]) => boolean;
  stdin.write = (text: string, ...rest: unknown[]) => write(withLongIntegers(text), ...rest);
}

/** Ends the program, and stops reading its output, because programs that it has started may still hold its pipes. */
function endAtOnce(child: ChildProcess | undefined): void {
  for (const stream of [child?.stdin, child?.stdout, child?.stderr]) stream?.destroy();
  child?.kill('SIGKILL');
}
