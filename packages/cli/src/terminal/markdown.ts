import { InlineReader, inlinePieces, pieceMark, type Mark, type Piece } from './inline-markdown.js';
import type { Style } from './screen.js';
import { VisibleStream } from './untrusted.js';
import { textWidth } from './width.js';
import { WordWrap } from './word-wrap.js';

/**
 * The patterns of lines. Each pattern matches from the line's first visible character. The white space before this
 * character is the line's lead.
 */
const LINE = {
  fence: /^(?:`{3,}|~{3,})/u,
  halfFence: /^(?:`{1,2}|~{1,2})$/u,
  heading: /^#{1,6} +/u,
  item: /^([-*+]|\d{1,9}[.)]) +/u,
  quote: /^(?:> ?){1,8}/u,
  rule: /^(?:-{3,}|\*{3,}|_{3,})\s*$/u,
  /** The first word and the start of the second: the line is running text, and its marker is complete. */
  decided: /^[\s>]*[^\s>]\S*\s+\S/u,
} as const;

/** The number of characters after which a line of an undecided kind counts as running text. */
const MAX_OPENING = 400;

/** The indentation that makes a line code, and disables all markers except those of a list or a fence. */
const CODE_INDENT = 4;

/**
 * The state of the current line.
 *
 *   beginning ──running text──▶ running ──line break──▶ beginning
 *       ├──code, fence or table──▶ whole ──line break, line shown──▶ beginning
 *       └──line break, line shown──▶ beginning
 */
type Reading =
  | { readonly type: 'beginning' }
  | { readonly type: 'whole'; readonly kind: WholeKind }
  | { readonly type: 'running'; readonly mark: Mark; readonly inline: InlineReader };

type WholeKind = 'fenced' | 'fence' | 'table' | 'code';

type Running = Extract<Reading, { type: 'running' }>;

/**
 * Renders streamed Markdown for a terminal: text appears as soon as its words are complete, in lines of the screen's
 * width, and control characters are escaped. Tables appear when they are complete. Markers that may be part of a name,
 * a power or an index stay in the text.
 */
export class MarkdownStream {
  readonly #style: Style;
  readonly #columns: () => number;
  readonly #wrap: WordWrap;
  readonly #visible = new VisibleStream();
  #reading: Reading = { type: 'beginning' };
  /** The white space before the line's first visible character, with tabs as spaces. */
  #lead = '';
  /** The text after the lead that is not shown yet. */
  #heldText = '';
  /** The open code fence, if any. */
  #fence: { readonly sign: string; readonly indent: number } | undefined;
  /** The lines of a possible table. They are a table if the second line is a separator. */
  #table: string[] = [];
  #above: 'nothing' | 'blank' | 'code' | 'other' = 'nothing';
  #isInList = false;

  constructor(write: (text: string) => void, style: Style, columns: () => number) {
    this.#style = style;
    this.#columns = columns;
    this.#wrap = new WordWrap(write, columns);
  }

  push(text: string): void {
    this.#take(this.#visible.push(text));
  }

  /** Ends the text. If text was shown, the screen is then at the start of a line. */
  end(): void {
    this.#take(this.#visible.end());
    if (this.#lead !== '' || this.#heldText !== '' || this.#reading.type === 'running') this.#endLine();
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
    const isLead = this.#reading.type === 'beginning' && this.#heldText === '';
    const blanks = isLead ? (/^\s*/u.exec(text)?.[0] ?? '') : '';
    this.#lead += blanks.replaceAll('\t', '    ');
    this.#heldText += text.slice(blanks.length);
    if (this.#heldText === '') return;
    if (this.#reading.type === 'beginning') this.#begin();
    if (this.#reading.type === 'running') this.#run(this.#reading);
  }

  #begin(): void {
    const kind = this.#wholeKind();
    if (kind !== 'table') this.#endTable();
    if (kind !== undefined) this.#reading = { type: 'whole', kind };
    else if (this.#heldText.length >= MAX_OPENING || LINE.decided.test(this.#heldText)) this.#start();
  }

  #wholeKind(): WholeKind | undefined {
    if (this.#fence !== undefined) return 'fenced';
    if (LINE.fence.test(this.#heldText)) return 'fence';
    if (this.#isShallow()) return this.#heldText.startsWith('|') ? 'table' : undefined;
    return this.#isIndentedCode() && !LINE.halfFence.test(this.#heldText) ? 'code' : undefined;
  }

  #isShallow(): boolean {
    return this.#lead.length < CODE_INDENT;
  }

  #isIndentedCode(): boolean {
    return !this.#isShallow() && !this.#isInList && this.#above !== 'other' && this.#table.length === 0;
  }

  #run({ mark, inline }: Running): void {
    const pieces = inline.push(this.#heldText);
    this.#heldText = '';
    this.#show(pieces, mark);
  }

  #endLine(): void {
    if (this.#reading.type !== 'running') this.#wholeLine();
    if (this.#reading.type === 'running') this.#endRunning(this.#reading);
    this.#lead = '';
    this.#heldText = '';
    this.#reading = { type: 'beginning' };
  }

  #endRunning(running: Running): void {
    this.#run(running);
    this.#show(running.inline.end(), running.mark);
    this.#wrap.newLine();
  }

  #wholeLine(): void {
    if (this.#fence !== undefined) return this.#fencedLine(this.#fence);
    if (this.#heldText === '') return this.#blankLine();
    const kind = this.#reading.type === 'whole' ? this.#reading.kind : undefined;
    if (kind === 'table') return this.#tableLine();
    if (kind === 'fence' && this.#openFence()) return;
    if (this.#isIndentedCode()) return this.#codeLine();
    if (this.#isShallow() && LINE.rule.test(this.#heldText)) return this.#ruleLine();
    this.#start();
  }

  /** Starts a line of running text. The line's markers become the prefix of its screen lines. */
  #start(): void {
    const opening = this.#heldText.slice(0, MAX_OPENING);
    const [item, sign = ''] = LINE.item.exec(opening) ?? [];
    const heading = this.#isShallow() ? LINE.heading.exec(opening)?.[0] : undefined;
    if (item !== undefined) this.#isInList = true;
    else if (heading !== undefined || this.#above !== 'other') this.#leaveList();
    this.#spaceBefore();
    // The indentation takes at most half of the line.
    const lead = ' '.repeat(Math.min(this.#lead.length, Math.floor(this.#columns() / 2)));
    if (item !== undefined) return this.#startRunning(item, `${lead}${/^\d/u.test(sign) ? sign : '•'} `);
    if (heading !== undefined) return this.#startRunning(heading, '', '', this.#style.bold);
    const quote = this.#isShallow() ? LINE.quote.exec(opening)?.[0] : undefined;
    if (quote === undefined) return this.#startRunning('', lead);
    const bar = `${this.#style.dim('│')} `.repeat(quote.match(/>/gu)?.length ?? 1);
    this.#startRunning(quote, bar, bar);
  }

  #startRunning(sign: string, shown: string, below = ' '.repeat(textWidth(shown)), mark: Mark = (text) => text): void {
    this.#heldText = this.#heldText.slice(sign.length);
    this.#wrap.setPrefix(shown);
    this.#wrap.startLine();
    this.#wrap.setPrefix(below);
    this.#reading = { type: 'running', mark, inline: new InlineReader() };
  }

  #show(pieces: readonly Piece[], mark: Mark): void {
    for (const piece of pieces) {
      const own = pieceMark(piece, this.#style);
      this.#wrap.add(piece.text, piece.look === 'plain' ? mark : (text) => mark(own(text)));
    }
  }

  #blankLine(): void {
    this.#endTable();
    if (this.#above !== 'nothing') this.#above = 'blank';
  }

  /** Writes one blank line for several consecutive blank lines. Omits blank lines at the start of the text. */
  #spaceBefore(): void {
    if (this.#above === 'blank') {
      this.#wrap.setPrefix('');
      this.#wrap.newLine();
    }
    this.#above = 'other';
  }

  /** Ends a list at a line with an indentation of less than 2 columns. */
  #leaveList(): void {
    if (this.#lead.length < 2) this.#isInList = false;
  }

  /**
   * Opens a code fence. Returns false if the line is not a fence, because its info string after backticks contains a
   * backtick.
   */
  #openFence(): boolean {
    const sign = LINE.fence.exec(this.#heldText)?.[0] ?? '';
    const info = this.#heldText.slice(sign.length).trim();
    if (sign.startsWith('`') && info.includes('`')) return false;
    this.#leaveList();
    if (info !== '') this.#plainLine(info, this.#style.dim);
    this.#fence = { sign, indent: this.#lead.length };
    return true;
  }

  #fencedLine({ sign, indent }: { readonly sign: string; readonly indent: number }): void {
    const end = this.#heldText.trimEnd();
    if (end.length >= sign.length && end === sign.charAt(0).repeat(end.length)) this.#fence = undefined;
    else this.#plainLine(this.#lead.slice(indent) + this.#heldText, this.#style.cyan);
  }

  #codeLine(): void {
    this.#plainLine(this.#lead.slice(CODE_INDENT) + this.#heldText, this.#style.cyan);
    this.#above = 'code';
  }

  #ruleLine(): void {
    this.#leaveList();
    this.#plainLine('─'.repeat(Math.max(1, Math.min(40, this.#columns() - 2))), this.#style.dim, '');
  }

  #tableLine(): void {
    this.#leaveList();
    if (this.#table.length === 1 && !isSeparator(this.#heldText)) this.#endTable();
    this.#table.push(this.#lead + this.#heldText);
  }

  #endTable(): void {
    const [head, separator, ...others] = this.#table;
    this.#table = [];
    if (head === undefined) return;
    if (separator === undefined) return this.#plainLine(head, (text) => text, '');
    const rows = [head, ...others].map(rowCells);
    const widths = this.#columnWidths(rows);
    for (const [index, cells] of rows.entries()) {
      const line = cells.map((cell, at) => cell + ' '.repeat(Math.max(0, (widths[at] ?? 0) - textWidth(cell))));
      this.#plainLine(line.join('  ').trimEnd(), index === 0 ? this.#style.bold : (text) => text);
    }
  }

  /** The widths of a table's columns, limited to the screen's width, so that a wide cell does not widen other rows. */
  #columnWidths(rows: readonly string[][]): number[] {
    const widths: number[] = [];
    const widest = this.#columns();
    for (const cells of rows)
      for (const [at, cell] of cells.entries())
        widths[at] = Math.max(widths[at] ?? 0, Math.min(textWidth(cell), widest));
    return widths;
  }

  /** Shows a line with all its white space, and does not wrap it. */
  #plainLine(line: string, mark: Mark, prefix = '  '): void {
    this.#spaceBefore();
    this.#wrap.setPrefix(prefix);
    if (line !== '') this.#wrap.addRaw(line.replaceAll('\t', '    '), mark);
    this.#wrap.newLine();
  }
}

function isSeparator(line: string): boolean {
  return cellTexts(line).every((cell) => /^:?-+:?$/u.test(cell));
}

function rowCells(line: string): string[] {
  return cellTexts(line).map((cell) =>
    inlinePieces(cell.replaceAll(String.raw`\|`, '|'))
      .map(({ text }) => text)
      .join(''),
  );
}

function cellTexts(line: string): string[] {
  const inner = line
    .trim()
    .replace(/^\|/u, '')
    .replace(/(?<!\\)\|$/u, '');
  return inner.split(/(?<!\\)\|/u).map((cell) => cell.trim());
}
