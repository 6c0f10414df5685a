import { createInterface, type Interface, type Key } from 'node:readline';

/** A prompt, or the reason why there is none: the end of input, or Ctrl-C on an empty line. */
export type PromptLine =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'end' }
  | { readonly type: 'interrupt' };

/** Lines that arrive within this many ms were pasted, even if the terminal does not mark pasted text. */
const PASTE_MS = 30;

/** A key that follows Escape later than this, in ms, is a key of its own. It also counts while a turn runs. */
const ESCAPE_MS = 100;

const MAX_HISTORY = 200;

/** Makes the terminal mark the start and the end of pasted text (DEC private mode 2004). */
export const MARK_PASTES = '\x1b[?2004h';
export const NO_MARKS = '\x1b[?2004l';

/**
 * Reads prompts at a terminal, with editing and history. Enter sends a prompt, except after a backslash, which
 * continues the prompt on the next line. Line breaks in pasted text do not send the prompt. Between prompts, nothing
 * reads the keyboard.
 */
export class PromptReader {
  readonly #history: string[];
  readonly #options: PromptReaderOptions;

  constructor(options: PromptReaderOptions) {
    this.#options = options;
    this.#history = options.earlier.filter((text) => text !== '' && !text.includes('\n')).slice(0, MAX_HISTORY);
  }

  /** Reads a prompt that begins with the text that was typed before. */
  async read(begun = ''): Promise<PromptLine> {
    const lines = createInterface({
      input: process.stdin,
      output: process.stdout,
      terminal: true,
      history: [...this.#history],
      historySize: MAX_HISTORY,
      prompt: this.#options.sign(),
      completer: this.#options.complete,
      escapeCodeTimeout: ESCAPE_MS,
    });
    process.stdout.write(MARK_PASTES);
    try {
      const line = await new PromptReading(lines, this.#options).read(begun);
      if (line.type === 'text') this.#remember(line.text);
      return line;
    } finally {
      process.stdout.write(NO_MARKS);
    }
  }

  #remember(text: string): void {
    if (text.trim() !== '' && this.#history[0] !== text && !text.includes('\n')) this.#history.unshift(text);
  }
}

export interface PromptReaderOptions {
  /** The text before the prompt. */
  readonly sign: () => string;
  /** Earlier prompts, the newest first. */
  readonly earlier: readonly string[];
  /** Completes a line, as for a completer of Node's readline. */
  readonly complete: (line: string) => [string[], string];
  /** Called on Shift-Tab. */
  readonly changeMode: () => void;
}

interface TypedLine {
  readonly text: string;
  /** True if pasted text, not the Enter key, ended the line. */
  readonly isPasted: boolean;
}

/**
 * Reads one prompt. States:
 *
 *   typing ──Enter──▶ settling (more lines may come at once) ──▶ sent
 *     ▲ │                │
 *     │ └─a paste, `\`───┤
 *     └──────────────────┘
 */
class PromptReading {
  readonly #lines: Interface;
  readonly #typedLines: TypedLine[] = [];
  #isPasting = false;
  #timer: NodeJS.Timeout | undefined;
  #end: PromptLine = { type: 'end' };

  readonly #options: PromptReaderOptions;

  constructor(lines: Interface, options: PromptReaderOptions) {
    this.#lines = lines;
    this.#options = options;
  }

  read(begun: string): Promise<PromptLine> {
    const onKey = (_text: string, key: Key | undefined) => this.#key(key);
    process.stdin.on('keypress', onKey);
    return new Promise((resolve) => {
      this.#lines.on('line', (line) => this.#line(line));
      this.#lines.on('SIGINT', () => this.#interrupt());
      this.#lines.on('close', () => {
        clearTimeout(this.#timer);
        process.stdin.off('keypress', onKey);
        resolve(this.#end.type === 'end' && this.#typedLines.length > 0 ? this.#text() : this.#end);
      });
      this.#lines.prompt();
      if (begun !== '') this.#lines.write(begun.replaceAll('\n', ' '));
    });
  }

  #key(key: Key | undefined): void {
    if (key?.name === 'paste-start') this.#isPasting = true;
    if (key?.name === 'paste-end') this.#isPasting = false;
    if (key?.name !== 'tab' || key.shift !== true) return;
    this.#options.changeMode();
    this.#lines.setPrompt(this.#options.sign());
    this.#lines.prompt(true);
  }

  #line(text: string): void {
    clearTimeout(this.#timer);
    this.#typedLines.push({ text, isPasted: this.#isPasting });
    if (this.#isPasting) return;
    if (text.endsWith('\\')) return this.#lines.prompt();
    this.#timer = setTimeout(() => this.#settle(), PASTE_MS);
  }

  /** Sends the prompt, unless text follows the last line break. That text waits for Enter. */
  #settle(): void {
    if (this.#lines.line !== '') return;
    this.#finish(this.#text());
  }

  #interrupt(): void {
    if (this.#lines.line === '' && this.#typedLines.length === 0) return this.#finish({ type: 'interrupt' });
    // Discards the typed text.
    this.#typedLines.splice(0);
    process.stdout.write('^C\n');
    this.#lines.write(null, { ctrl: true, name: 'e' });
    this.#lines.write(null, { ctrl: true, name: 'u' });
    this.#lines.prompt();
  }

  #finish(end: PromptLine): void {
    this.#end = end;
    this.#lines.close();
  }

  /** A typed backslash at a line's end continues the line; in pasted text it is part of the text. */
  #text(): PromptLine {
    const last = this.#typedLines.length - 1;
    const lines = this.#typedLines.map(({ text, isPasted }, index) =>
      isPasted || index === last ? text : text.replace(/\\$/u, ''),
    );
    return { type: 'text', text: lines.join('\n') };
  }
}
