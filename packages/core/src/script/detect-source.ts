import type { BlockScanner } from './detect-block.js';
import type { AnswerWindow } from './detect-window.js';

const TAB = 0x09;
const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;

/**
 * Returns the text of an open block that certainly belongs to its source, piece by piece. All pieces and the `rest`,
 * joined, are the block's source.
 */
export class SourceEmitter {
  /** A blank rest of a tag's own line is not source; `return`: a CR may end the line. */
  private openingLine: 'blank' | 'return' | 'passed' = 'passed';
  /**
   * Text that was read and may not be source: white space after the opening tag, or the indentation of a closing
   * line.
   */
  private held = '';
  private readTo = 0;
  private emitted = 0;

  constructor(
    private readonly window: AnswerWindow,
    private readonly block: BlockScanner,
  ) {}

  /** A block has opened; the window is at its body. */
  begin(format: 'xml' | 'fence'): void {
    this.openingLine = format === 'xml' ? 'blank' : 'passed';
    this.held = '';
    this.readTo = this.window.position;
    this.emitted = 0;
  }

  /** The source that the text up to the window's index makes certain. */
  next(): string {
    const { window, block } = this;
    const { doubtfulFrom } = block;
    const to = doubtfulFrom ?? window.position;
    if (to <= this.readTo) return '';
    const source = this.read(window.between(this.readTo, to));
    this.readTo = to;
    if (this.openingLine !== 'passed') return '';
    this.held = doubtfulFrom === undefined ? block.headOfClosingLine() : '';
    const certain = source.slice(0, source.length - this.held.length);
    this.emitted += certain.length;
    return certain;
  }

  /** The part of the finished source that was not emitted yet. */
  rest(source: string): string {
    return source.slice(this.emitted);
  }

  /**
   * The held text plus the piece, without the rest of the opening line. It reads only the piece, because the held
   * text may be long.
   */
  private read(piece: string): string {
    for (let index = 0; index < piece.length && this.openingLine !== 'passed'; index += 1) {
      const character = piece.charCodeAt(index);
      if (this.openingLine === 'blank' && (character === SPACE || character === TAB)) continue;
      const isReturn = this.openingLine === 'blank' && character === CARRIAGE_RETURN;
      this.openingLine = isReturn ? 'return' : 'passed';
      if (character === NEWLINE) return piece.slice(index + 1);
    }
    this.held += piece;
    return this.held;
  }
}
