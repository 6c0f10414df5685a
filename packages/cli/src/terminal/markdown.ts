import { InlineReader, inlinePieces, markOf, type Mark, type Piece } from './inline-markdown.js';
import type { Style } from './style.js';
import { VisibleStream } from './untrusted.js';
import { textWidth } from './width.js';
import { WordWrap } from './word-wrap.js';

const LINE = {
  fence: /^ {0,3}(`{3,}|~{3,})/u,
  heading: /^ {0,3}#{1,6} +/u,
  bullet: /^(\s*)[-*+] +/u,
  number: /^\s*\d{1,9}[.)] +/u,
  quote: /^ {0,3}(?:> ?)+/u,
  rule: /^ {0,3}(?:-{3,}|\*{3,}|_{3,})\s*$/u,
  table: /^ {0,3}\|/u,
  indent: /^\s*/u,
} as const;

/**
 * A line of the text.
 *
 *   beginning ──it is no fence, table or rule──▶ running ──its end──▶ beginning
 *       └──the end of another──▶ shown whole ──▶ beginning
 */
type Reading =
  | { readonly type: 'beginning' }
  | { readonly type: 'running'; readonly mark: Mark; readonly inline: InlineReader };

/** Of these the whole line must be there. */
const NEEDS_WHOLE_LINE = /^ {0,3}(?:`|~{2}|\||-{2}|\*{3}|_{2})/u;

/**
 * Markdown as it streams, for a terminal: text is shown as soon as its words are whole, in lines of the screen's width,
 * and what a terminal would obey is shown as what it is. Tables are shown when they are whole. Signs that may be part
 * of a name, a power or an index stay: no word is lost.
 */
export class MarkdownStream {
  readonly #style: Style;
  readonly #columns: () => number;
  readonly #wrap: WordWrap;
  readonly #visible = new VisibleStream();
  #reading: Reading = { type: 'beginning' };
  /** What of the line is not shown. */
  #held = '';
  /** The line that closes the fence that is open. */
  #fence: RegExp | undefined;
  #table: string[] = [];
  #isAfterBlank = true;
  #isBlankDue = false;

  constructor(write: (text: string) => void, style: Style, columns: () => number) {
    this.#style = style;
    this.#columns = columns;
    this.#wrap = new WordWrap(write, columns);
  }

  push(text: string): void {
    this.#take(this.#visible.push(text));
  }

  /** The screen is at a line's start afterwards, unless nothing was shown. */
  end(): void {
    this.#take(this.#visible.end());
    if (this.#held !== '' || this.#reading.type === 'running') this.#endLine();
    this.#endTable();
  }

  #take(text: string): void {
    const [first = '', ...others] = text.replaceAll('\r\n', '\n').split('\n');
    this.#add(first);
    for (const line of others) {
      this.#endLine();
      this.#add(line);
    }
  }

  #add(text: string): void {
    if (text === '') return;
    this.#held += text;
    if (this.#reading.type === 'beginning') this.#begin();
    if (this.#reading.type === 'running') this.#run(this.#reading);
  }

  /** Its first word says what it is, when it is known where that ends. */
  #begin(): void {
    if (this.#fence !== undefined || !/^[\s>]*[^\s>]\S*\s+\S/u.test(this.#held) || NEEDS_WHOLE_LINE.test(this.#held))
      return;
    this.#start();
  }

  #run({ mark, inline }: Extract<Reading, { type: 'running' }>): void {
    const pieces = inline.push(this.#held);
    this.#held = '';
    this.#show(pieces, mark);
  }

  #endLine(): void {
    const line = this.#held;
    if (this.#reading.type === 'beginning') {
      if (this.#fence !== undefined) return this.#fencedLine(line);
      if (LINE.table.test(line)) return this.#tableLine(line);
      this.#endTable();
      if (line.trim() === '') return this.#blankLine();
      const fence = LINE.fence.exec(line);
      if (fence !== null) return this.#openFence(fence[1] as string, line.slice(fence[0].length).trim());
      if (LINE.rule.test(line)) return this.#ruleLine();
      this.#start();
    }
    const running = this.#reading as Extract<Reading, { type: 'running' }>;
    this.#run(running);
    this.#show(running.inline.end(), running.mark);
    this.#wrap.newLine();
    this.#next();
  }

  #next(): void {
    this.#held = '';
    this.#reading = { type: 'beginning' };
  }

  /** A line of running text: its signs become what every line of it begins with. */
  #start(): void {
    this.#endTable();
    this.#spaceBefore();
    const { bold, dim } = this.#style;
    const heading = LINE.heading.exec(this.#held)?.[0];
    if (heading !== undefined) return this.#startRunning(heading, '', '', bold);
    const quote = LINE.quote.exec(this.#held)?.[0];
    if (quote !== undefined) {
      const bar = `${dim('│')} `.repeat(quote.match(/>/gu)?.length ?? 1);
      return this.#startRunning(quote, bar, bar);
    }
    const bullet = LINE.bullet.exec(this.#held);
    if (bullet !== null) return this.#startRunning(bullet[0], `${bullet[1] ?? ''}• `);
    const lead = LINE.number.exec(this.#held)?.[0] ?? LINE.indent.exec(this.#held)?.[0] ?? '';
    this.#startRunning(lead, lead);
  }

  #startRunning(sign: string, shown: string, below = ' '.repeat(textWidth(shown)), mark: Mark = (text) => text): void {
    this.#held = this.#held.slice(sign.length);
    this.#wrap.setPrefix(shown);
    this.#wrap.startLine();
    this.#wrap.setPrefix(below);
    this.#reading = { type: 'running', mark, inline: new InlineReader() };
  }

  #show(pieces: readonly Piece[], mark: Mark): void {
    for (const piece of pieces) {
      const own = markOf(piece, this.#style);
      this.#wrap.add(piece.text, piece.look === 'plain' ? mark : (text) => mark(own(text)));
    }
  }

  #blankLine(): void {
    this.#isBlankDue = true;
    this.#next();
  }

  /** One blank line, however many there were; none at the beginning. */
  #spaceBefore(): void {
    if (this.#isBlankDue && !this.#isAfterBlank) {
      this.#wrap.setPrefix('');
      this.#wrap.newLine();
    }
    this.#isBlankDue = false;
    this.#isAfterBlank = false;
  }

  #openFence(fence: string, info: string): void {
    if (info !== '') this.#plainLine(info, this.#style.dim);
    this.#fence = new RegExp(String.raw`^\s*${fence.charAt(0)}{${fence.length},}\s*$`, 'u');
    this.#next();
  }

  #fencedLine(line: string): void {
    if (this.#fence?.test(line) === true) this.#fence = undefined;
    else this.#plainLine(line, this.#style.cyan);
    this.#next();
  }

  #ruleLine(): void {
    this.#plainLine('─'.repeat(Math.max(1, Math.min(40, this.#columns() - 2))), this.#style.dim, '');
    this.#next();
  }

  #tableLine(line: string): void {
    this.#table.push(line);
    this.#next();
  }

  #endTable(): void {
    if (this.#table.length === 0) return;
    const rows = this.#table.filter((line) => !/^[\s|:-]*$/u.test(line)).map(cellsOf);
    this.#table = [];
    const widths: number[] = [];
    for (const cells of rows)
      for (const [at, cell] of cells.entries()) widths[at] = Math.max(widths[at] ?? 0, textWidth(cell));
    for (const [index, cells] of rows.entries()) {
      const line = cells.map((cell, at) => cell + ' '.repeat((widths[at] ?? 0) - textWidth(cell))).join('  ');
      this.#plainLine(line.trimEnd(), index === 0 ? this.#style.bold : (text) => text);
    }
  }

  /** Blanks count, and nothing is wrapped. */
  #plainLine(line: string, mark: Mark, prefix = '  '): void {
    this.#spaceBefore();
    this.#wrap.setPrefix(prefix);
    if (line !== '') this.#wrap.addRaw(line.replaceAll('\t', '    '), mark);
    this.#wrap.newLine();
  }
}

function cellsOf(line: string): string[] {
  const inner = line
    .trim()
    .replace(/^\|/u, '')
    .replace(/(?<!\\)\|$/u, '');
  return inner.split(/(?<!\\)\|/u).map((cell) =>
    inlinePieces(cell.trim().replaceAll(String.raw`\|`, '|'))
      .map(({ text }) => text)
      .join(''),
  );
}
