import type { BlockScanner } from './detect-block.js';
import type { AnswerWindow } from './detect-window.js';

const TAB = 0x09;
const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;

/**
 * Says of an open block what is its source for certain, piece by piece. All pieces and the `rest`, joined, are the
 * block's source.
 */
export class SourceTeller {
  /** The rest of a tag's own line is no source where it is blank; `return`: a CR may be the end of it. */
  private openingLine: 'blank' | 'return' | 'passed' = 'passed';
  /** Read, and perhaps no source: blanks behind the opening tag, or the indentation of a closing line. */
  private held = '';
  private readTo = 0;
  private told = 0;

  constructor(
    private readonly window: AnswerWindow,
    private readonly block: BlockScanner,
  ) {}

  /** A block has opened; the window stands at its body. */
  begin(format: 'xml' | 'fence'): void {
    this.openingLine = format === 'xml' ? 'blank' : 'passed';
    this.held = '';
    this.readTo = this.window.position;
    this.told = 0;
  }

  /** What has become certain with the text up to the window's index. */
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
    this.told += certain.length;
    return certain;
  }

  /** What of the finished source was not told yet. */
  rest(source: string): string {
    return source.slice(this.told);
  }

  /** What is held and the piece, without the rest of the opening line. Reads the piece alone: much may be held. */
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
