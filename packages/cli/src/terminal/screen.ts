import { visibleLine } from './untrusted.js';
import { cutToWidth, endOfWidth } from './width.js';

/** The members of a stream that a screen uses. */
export interface OutputStream {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
  write(text: string): unknown;
}

const DEFAULT_COLUMNS = 80;
const DEFAULT_ROWS = 24;
const ERASE_LINE = '\r\x1b[2K';

/**
 * The output of the commands to stdout and stderr. On a terminal, it keeps one live line below the output, and buffers
 * all output while a question is open. Without a terminal, it only writes.
 */
export class Screen {
  readonly style: Style;
  readonly warningStyle: Style;
  readonly isTerminal: boolean;
  readonly #out: OutputStream;
  readonly #err: OutputStream;
  readonly #drawsLiveLine: boolean;
  #atLineStart = true;
  #live = '';
  #typed = '';
  #isDrawn = false;
  #heldWrites: (() => void)[] | undefined;
  /** Called after a question has released the screen. */
  onRelease: (() => void) | undefined;

  constructor(out: OutputStream, err: OutputStream, environment: Environment) {
    this.#out = out;
    this.#err = err;
    this.isTerminal = out.isTTY === true;
    this.style = styleFor(wantsColour(this.isTerminal, environment));
    this.warningStyle = styleFor(wantsColour(err.isTTY === true, environment));
    this.#drawsLiveLine = this.isTerminal && environment['TERM'] !== 'dumb';
  }

  get columns(): number {
    const { columns } = this.#out;
    return columns === undefined || columns < 20 ? DEFAULT_COLUMNS : columns;
  }

  get rows(): number {
    const { rows = 0 } = this.#out;
    // Some terminals report the height 0.
    return rows < 1 ? DEFAULT_ROWS : rows;
  }

  write(text: string): void {
    if (text === '') return;
    if (this.#heldWrites !== undefined) return void this.#heldWrites.push(() => this.write(text));
    this.#erase();
    this.#out.write(text);
    this.#atLineStart = text.endsWith('\n');
    this.#draw();
  }

  /** Ends an unfinished line. */
  toLineStart(): void {
    if (this.#heldWrites !== undefined) return void this.#heldWrites.push(() => this.toLineStart());
    if (!this.#atLineStart) this.write('\n');
  }

  line(text: string): void {
    this.toLineStart();
    this.write(`${text}\n`);
  }

  /** Writes a line to stderr. */
  warn(text: string): void {
    if (this.#heldWrites !== undefined) return void this.#heldWrites.push(() => this.warn(text));
    this.#erase();
    if (this.isTerminal && this.#err.isTTY === true) this.toLineStart();
    this.#err.write(`${text}\n`);
    this.#draw();
  }

  /** Writes a line to stderr that begins with the name of this program. */
  readonly notice = (message: string): void => this.warn(`toolscript: ${message}`);

  /** True while a question is open. */
  get isHeld(): boolean {
    return this.#heldWrites !== undefined;
  }

  /** Sets the line that a terminal shows below all other output. */
  setLive(text: string): void {
    this.#live = text;
    this.#redraw();
  }

  /** Sets the text that the user types meanwhile. A terminal shows its end in place of the live line. */
  setTyped(text: string): void {
    this.#typed = text.replaceAll('\n', ' ');
    this.#redraw();
  }

  #redraw(): void {
    if (this.#heldWrites !== undefined) return;
    this.#erase();
    this.#draw();
  }

  /** Buffers the output of a terminal, so that no output appears between a question and its answer. */
  hold(): void {
    this.#erase();
    this.toLineStart();
    if (this.isTerminal) this.#heldWrites ??= [];
  }

  release(): void {
    const held = this.#heldWrites ?? [];
    this.#heldWrites = undefined;
    for (const write of held) write();
    this.#draw();
    this.onRelease?.();
  }

  #draw(): void {
    const line = this.#typed === '' ? this.#live : `› ${endOfWidth(visibleLine(this.#typed), this.columns - 3)}`;
    if (!this.#drawsLiveLine || line === '' || !this.#atLineStart) return;
    this.#out.write(this.#typed === '' ? this.style.dim(cutToWidth(line, this.columns)) : line);
    this.#isDrawn = true;
  }

  #erase(): void {
    if (this.#isDrawn) this.#out.write(ERASE_LINE);
    this.#isDrawn = false;
  }
}

/** The screen of this process. */
export function openScreen(): Screen {
  return new Screen(process.stdout, process.stderr, process.env);
}

/** Whether a user may be at a terminal. Does not open a terminal. */
export function hasTerminal(): boolean {
  return process.stdout.isTTY || process.stderr.isTTY;
}

type Mark = (text: string) => string;

/** Functions that style a text. They return the text unchanged if the stream does not show colours. */
export interface Style {
  readonly dim: Mark;
  readonly bold: Mark;
  readonly italic: Mark;
  readonly red: Mark;
  readonly green: Mark;
  readonly yellow: Mark;
  readonly cyan: Mark;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** Whether to use colour. `FORCE_COLOR` takes precedence over `NO_COLOR`, and both over the type of the terminal. */
export function wantsColour(isTerminal: boolean, environment: Environment): boolean {
  const forced = environment['FORCE_COLOR'];
  if (forced !== undefined) return forced !== '0' && forced !== 'false';
  const refused = environment['NO_COLOR'];
  if (refused !== undefined && refused !== '') return false;
  return isTerminal && environment['TERM'] !== 'dumb';
}

export function styleFor(hasColour: boolean): Style {
  const mark =
    (open: number, close: number): Mark =>
    (text) =>
      hasColour && text !== '' ? `\x1b[${open}m${text}\x1b[${close}m` : text;
  return {
    dim: mark(2, 22),
    bold: mark(1, 22),
    italic: mark(3, 23),
    red: mark(31, 39),
    green: mark(32, 39),
    yellow: mark(33, 39),
    cyan: mark(36, 39),
  };
}
