import type { ScriptLanguage } from '../../protocol/script.js';
import {
  allowsFence,
  allowsScriptFence,
  BACKTICK,
  endOfRun,
  matchClosingLine,
  MAX_RUN,
  TILDE,
  type TagMatch,
  type TagTable,
  type TextFence,
} from './markup.js';
import type { LinePlace } from './line-place.js';
import type { AnswerWindow } from './window.js';

/** A construct that ends a text segment, outside all code spans and fences. Indexes refer to the window's chunk. */
export type Opening =
  | { readonly type: 'tag'; readonly start: number; readonly tag: TagMatch }
  | {
      readonly type: 'fence';
      readonly start: number;
      readonly end: number;
      readonly length: number;
      readonly language: ScriptLanguage;
    };

/** A run of backticks that may open a code span, or, until its line ends, a fence. */
interface OpenSpan {
  readonly length: number;
  /** The position after the run. */
  readonly start: number;
  /** The fence that this run opens if the line ends without another backtick. */
  fence: TextFence | undefined;
  /** Position of the first tag inside the span. The tag is text only if the span closes. */
  heldFrom: number | undefined;
  readonly place: LinePlace;
}

/**
 * `stopped`: the chunk is consumed, or its rest waits for more text. `switched`: the scanner continues in another
 * context.
 */
type Step = 'stopped' | 'switched';

const NEWLINE = 0x0a;
const LESS_THAN = 0x3c;

const COMMENT_OPENING = '<!--';
const COMMENT_CLOSING = '-->';
/** The part of the opening that is read at once: `<!-->` and `<!--->` are whole comments. */
const COMMENT_START = 2;

/** Reads assistant text up to the next block, including code spans and fences. */
export class TextScanner {
  #fence: TextFence | undefined;
  #isWithinFenceLine = false;
  #span: OpenSpan | undefined;
  #isInLongRun = false;
  #isInComment = false;
  /** The number of opening tags that were text and whose closing tags have not been read. */
  #quotedTags = 0;
  // After a failed span, no run of length `n` begins after `lastRuns[n]` and before `knownEnd`. This avoids repeated
  // searches.
  #knownEnd = 0;
  readonly #lastRuns: number[] = Array.from({ length: MAX_RUN + 1 }, () => -1);

  readonly #window: AnswerWindow;
  readonly #tags: TagTable;
  readonly #hasScriptFences: boolean;

  constructor(window: AnswerWindow, tags: TagTable, hasScriptFences: boolean) {
    this.#window = window;
    this.#tags = tags;
    this.#hasScriptFences = hasScriptFences;
  }

  /** True while only `<`, a backtick or a tilde can begin a construct. */
  get isPlain(): boolean {
    return this.#fence === undefined && this.#span === undefined && !this.#isInLongRun && !this.#isInComment;
  }

  /** The start of the text that may still become a block. */
  get heldFrom(): number | undefined {
    return this.#span?.heldFrom;
  }

  /** The position from which the window must keep the text. */
  get keepFrom(): number | undefined {
    return this.#span?.start;
  }

  /** Continues to the opening of the next block. Returns undefined if the window's text ends before this opening. */
  scan(): Opening | undefined {
    for (;;) {
      const step = this.#step();
      if (step === 'stopped') return undefined;
      if (step !== 'switched') return step;
    }
  }

  #step(): Step | Opening {
    if (this.#isInLongRun) this.#passLongRun();
    if (this.#isInComment) return this.#scanComment();
    if (this.#fence !== undefined) return this.#scanFence(this.#fence);
    if (this.#span !== undefined) return this.#scanSpan(this.#span);
    return this.#scanPlain();
  }

  #scanPlain(): Step | Opening {
    const window = this.#window;
    for (;;) {
      window.index = indexOfMark(window.chunk, window.index);
      if (window.index === window.chunk.length) return 'stopped';
      const character = window.chunk.charCodeAt(window.index);
      const step =
        character === LESS_THAN ? this.#tagInPlain() : character === TILDE ? this.#tildesInPlain() : this.#runInPlain();
      if (step !== undefined) return step;
    }
  }

  #tagInPlain(): Step | Opening | undefined {
    const window = this.#window;
    const comment = this.#commentHere();
    if (comment === 'partial') return 'stopped';
    // defence: comments-are-text
    if (comment) {
      this.#isInComment = true;
      window.index += COMMENT_START;
      return 'switched';
    }
    const tag = this.#tags.match(window.chunk, window.index, window.isLast);
    if (tag === 'partial') return 'stopped';
    if (tag === undefined || (tag.kind === 'reasoning' && tag.closing) || this.#isText(tag)) {
      window.index += 1;
      return undefined;
    }
    return { type: 'tag', start: window.index, tag };
  }

  /** Whether a comment begins at the window's index. */
  #commentHere(): boolean | 'partial' {
    const window = this.#window;
    if (window.isEscaped(window.index)) return false;
    if (window.chunk.startsWith(COMMENT_OPENING, window.index)) return true;
    const rest = window.chunk.slice(window.index, window.index + COMMENT_OPENING.length);
    return !window.isLast && COMMENT_OPENING.startsWith(rest) ? 'partial' : false;
  }

  /** Whether a script's tag is text: it is escaped, it stands in a quote or in indented code, or it closes such a tag. */
  #isText({ kind, closing }: TagMatch): boolean {
    if (kind === 'reasoning') return false;
    const window = this.#window;
    // defence: quoted-tags-are-text
    const isQuoted = window.isEscaped(window.index) || window.placeAt(window.index) !== 'plain';
    if (!closing) {
      if (isQuoted) this.#quotedTags += 1;
      return isQuoted;
    }
    if (this.#quotedTags > 0) {
      this.#quotedTags -= 1;
      return true;
    }
    return isQuoted || this.#tags.nonce !== undefined;
  }

  #scanComment(): Step {
    const window = this.#window;
    const end = window.chunk.indexOf(COMMENT_CLOSING, window.index);
    if (end !== -1) {
      this.#isInComment = false;
      window.index = end + COMMENT_CLOSING.length;
      return 'switched';
    }
    // The chunk may end with the beginning of the comment's end.
    const kept = window.isLast ? 0 : COMMENT_CLOSING.length - 1;
    window.index = Math.max(window.index, window.chunk.length - kept);
    return 'stopped';
  }

  #tildesInPlain(): Step | undefined {
    const window = this.#window;
    const end = endOfRun(window.chunk, window.index);
    const length = end - window.index;
    const head = window.headBefore(window.index);
    if (allowsFence(head) && length <= MAX_RUN) {
      if (end === window.chunk.length && !window.isLast) return 'stopped';
      if (length >= 3) this.#openFence({ character: TILDE, length, indent: head.length });
    }
    window.index = end;
    return this.#fence === undefined ? undefined : 'switched';
  }

  #runInPlain(): Step | Opening | undefined {
    const window = this.#window;
    if (window.isEscaped(window.index)) {
      window.index += 1;
      return undefined;
    }
    const start = window.index;
    const end = this.#wholeRun();
    if (end === undefined) return 'stopped';
    const length = end - start;
    const head = length >= 3 ? window.headBefore(start) : undefined;
    if (length > MAX_RUN || (head === undefined && this.#isKnownStray(length, start))) {
      window.index = end;
      return this.#isInLongRun ? 'stopped' : undefined;
    }
    if (this.#hasScriptFences && allowsScriptFence(head)) {
      const info = this.#tags.matchScriptInfo(window.chunk, end, window.isLast);
      if (info === 'partial') return 'stopped';
      if (info !== undefined) return { type: 'fence', start, length, ...info };
    }
    window.index = end;
    const fence = allowsFence(head) ? { character: BACKTICK, length, indent: head.length } : undefined;
    this.#span = { length, start: window.position, fence, heldFrom: undefined, place: window.placeAt(window.index) };
    return 'switched';
  }

  #isKnownStray(length: number, start: number): boolean {
    const position = this.#window.answerPosition(start);
    return position < this.#knownEnd && (this.#lastRuns[length] ?? -1) <= position;
  }

  #scanSpan(span: OpenSpan): Step {
    const window = this.#window;
    for (;;) {
      window.index = indexOfMarkOrBreak(window.chunk, window.index);
      if (window.index === window.chunk.length) return window.isLast ? this.#endSpanWithAnswer(span) : 'stopped';
      const character = window.chunk.charCodeAt(window.index);
      const step =
        character === NEWLINE
          ? this.#breakInSpan(span)
          : character === LESS_THAN
            ? this.#tagInSpan(span)
            : character === TILDE
              ? this.#tildesInSpan(span)
              : this.#runInSpan(span);
      if (step !== undefined) return step;
    }
  }

  #breakInSpan(span: OpenSpan): Step | undefined {
    const window = this.#window;
    if (span.fence !== undefined) {
      this.#span = undefined;
      this.#openFence(span.fence);
      return 'switched';
    }
    if (window.isLineStart(window.index)) return this.#failSpan(span);
    window.index += 1;
    return undefined;
  }

  #tagInSpan(span: OpenSpan): Step | undefined {
    const window = this.#window;
    const comment = this.#commentHere();
    if (comment === 'partial') return 'stopped';
    if (comment) span.heldFrom ??= window.position;
    const tag = this.#tags.match(window.chunk, window.index, window.isLast);
    if (tag === 'partial') return 'stopped';
    const isMeant = tag !== undefined && !(tag.kind === 'reasoning' && tag.closing);
    if (isMeant && !tag.closing && window.isLineStart(window.index)) return this.#failSpan(span);
    if (isMeant) span.heldFrom ??= window.position;
    window.index = isMeant ? tag.end : window.index + 1;
    return undefined;
  }

  #tildesInSpan(span: OpenSpan): Step | undefined {
    const window = this.#window;
    const end = endOfRun(window.chunk, window.index);
    const length = end - window.index;
    if (length <= MAX_RUN && allowsFence(window.headBefore(window.index))) {
      if (end === window.chunk.length && !window.isLast) return 'stopped';
      if (length >= 3) return this.#failSpan(span);
    }
    window.index = end;
    return undefined;
  }

  #runInSpan(span: OpenSpan): Step | undefined {
    const window = this.#window;
    const start = window.index;
    const end = this.#wholeRun();
    if (end === undefined) return 'stopped';
    const length = end - start;
    if (length >= 3 && length <= MAX_RUN && allowsFence(window.headBefore(start))) return this.#failSpan(span);
    window.index = end;
    span.fence = undefined;
    if (length === span.length) {
      this.#span = undefined;
      return 'switched';
    }
    if (length <= MAX_RUN) this.#lastRuns[length] = window.answerPosition(start);
    return this.#isInLongRun ? 'stopped' : undefined;
  }

  #endSpanWithAnswer(span: OpenSpan): Step {
    if (span.fence === undefined) return this.#failSpan(span);
    this.#span = undefined;
    return 'stopped';
  }

  /**
   * Handles the end of a paragraph that contains no closing run for the span. The opening run then opens no code span,
   * so the held text is read again as plain text.
   */
  #failSpan(span: OpenSpan): Step {
    this.#span = undefined;
    if (span.heldFrom !== undefined) {
      this.#knownEnd = this.#window.position;
      this.#window.rewind(span.start, span.place);
    }
    return 'switched';
  }

  #openFence(fence: TextFence): void {
    this.#fence = fence;
    this.#isWithinFenceLine = true;
  }

  #scanFence(fence: TextFence): Step {
    const window = this.#window;
    while (window.index < window.chunk.length) {
      if (this.#isWithinFenceLine) {
        const lineEnd = window.chunk.indexOf('\n', window.index);
        window.index = lineEnd === -1 ? window.chunk.length : lineEnd + 1;
        this.#isWithinFenceLine = lineEnd === -1;
        continue;
      }
      const closed = matchClosingLine(window.chunk, window.index, fence, window.isLast);
      if (closed === 'partial') return 'stopped';
      if (closed !== undefined) {
        window.index = closed;
        this.#fence = undefined;
        return 'switched';
      }
      this.#isWithinFenceLine = true;
    }
    return 'stopped';
  }

  /** The index after the run of backticks at the window's index; undefined while the run may still grow. */
  #wholeRun(): number | undefined {
    const window = this.#window;
    const end = endOfRun(window.chunk, window.index);
    if (end < window.chunk.length || window.isLast) return end;
    if (end - window.index <= MAX_RUN) return undefined;
    this.#isInLongRun = true;
    return end;
  }

  #passLongRun(): void {
    const window = this.#window;
    while (window.chunk.charCodeAt(window.index) === BACKTICK) window.index += 1;
    this.#isInLongRun = window.index === window.chunk.length && !window.isLast;
  }
}

/**
 * The index of the first character that can begin a block, a code span or a fence; the text's length if the text has no
 * such character.
 */
function indexOfMark(text: string, from: number): number {
  let index = from;
  for (; index < text.length; index += 1) {
    const character = text.charCodeAt(index);
    if (character === LESS_THAN || character === BACKTICK || character === TILDE) break;
  }
  return index;
}

function indexOfMarkOrBreak(text: string, from: number): number {
  let index = from;
  for (; index < text.length; index += 1) {
    const character = text.charCodeAt(index);
    if (character === LESS_THAN || character === BACKTICK || character === TILDE || character === NEWLINE) break;
  }
  return index;
}
