import { scriptFailure, type ScriptFailure } from '../../protocol/errors.js';
import type { AnswerSegment, ScriptLanguage, SourcePosition } from '../../protocol/script.js';
import { ScriptLexer, type Surroundings } from './lexer.js';
import { allowsScriptFence, BACKTICK, endOfRun, matchClosingRun, MAX_RUN, type TagTable } from './markup.js';
import type { AnswerWindow } from './window.js';

/** An open script block. Positions count from the answer's beginning. */
export interface OpenBlock {
  readonly format: 'xml' | 'fence';
  readonly language: ScriptLanguage;
  /** The tag's name; empty for a fence. */
  readonly tag: string;
  /** Number of backticks; 0 for a tag. */
  readonly fenceLength: number;
  readonly start: number;
  /** Position after the opening tag, or after the fence's opening line. */
  readonly bodyStart: number;
}

/** The reason why a block is malformed. */
type BlockProblem =
  | { readonly type: 'nested'; readonly at: number }
  | { readonly type: 'unclosed-literal'; readonly at: number; readonly literal: Surroundings }
  | { readonly type: 'unfinished'; readonly at: number; readonly inside: Surroundings };

interface BlockEnd {
  readonly block: OpenBlock;
  /** The position at which the source ends and the closing tag or the fence's closing line begins. */
  readonly sourceEnd: number;
  readonly end: number;
  readonly problem: BlockProblem | undefined;
}

/**
 * After this number of blocks that ended at their `fallback`, each later block ends at its first closing line, or at
 * its first closing tag at a line's start.
 */
const PATIENCE = 8;

const LESS_THAN = 0x3c;

/** Reads script blocks one at a time, each up to its closing tag or line. */
export class BlockScanner {
  #block: OpenBlock | undefined;
  #lexer = new ScriptLexer();
  #depth = 0;
  #nestedAt: number | undefined;
  /** The first closing line, or closing tag at a line's start, that did not close the block. */
  #fallback: BlockEnd | undefined;
  #isInLongRun = false;
  #fallbacksTaken = 0;

  readonly #window: AnswerWindow;
  readonly #tags: TagTable;

  constructor(window: AnswerWindow, tags: TagTable) {
    this.#window = window;
    this.#tags = tags;
  }

  get keepFrom(): number | undefined {
    return this.#block?.start;
  }

  /**
   * From this position on, the open block's text belongs to its source only if a proper close follows. Undefined while
   * the block has no `fallback`.
   */
  get doubtfulFrom(): number | undefined {
    return this.#fallback?.sourceEnd;
  }

  /** The end of the text before the window's index, if a fence's closing line may begin with it; otherwise empty. */
  headOfClosingLine(): string {
    if (this.#block?.format !== 'fence') return '';
    const head = this.#window.headBefore(this.#window.index);
    return head !== undefined && allowsScriptFence(head) ? head : '';
  }

  /** Starts a block. The window is at the start of the block's body. */
  open(block: OpenBlock): void {
    this.#block = block;
    this.#lexer = new ScriptLexer();
    this.#depth = 1;
    this.#nestedAt = undefined;
    this.#fallback = undefined;
    this.#isInLongRun = false;
    this.#window.breakLine(block.format === 'fence' ? '' : undefined);
  }

  /** Continues to the block's end. Returns undefined while the window does not contain this end. */
  scan(): BlockEnd | undefined {
    const block = this.#block;
    if (block === undefined) return undefined;
    const end = this.#scanBody(block) ?? (this.#window.isLast ? this.#endWithAnswer(block) : undefined);
    if (end !== undefined) this.#block = undefined;
    return end;
  }

  #scanBody(block: OpenBlock): BlockEnd | undefined {
    const window = this.#window;
    const lexer = this.#lexer;
    if (this.#isInLongRun) this.#passLongRun();
    for (;;) {
      window.index = lexer.scan(window.chunk, window.index, window.answerPosition(0));
      if (window.index === window.chunk.length) return undefined;
      const index = window.index;
      const end = window.chunk.charCodeAt(index) === LESS_THAN ? this.#atTag(block) : this.#atBacktick(block);
      if (end === 'stopped') return undefined;
      if (end !== undefined) return end;
      if (window.index === index) window.index = lexer.consume(window.chunk, index, window.answerPosition(0));
    }
  }

  /** Handles a `<`. If the `<` is ordinary text of the script, the window stays before it. */
  #atTag(block: OpenBlock): BlockEnd | 'stopped' | undefined {
    const window = this.#window;
    const lexer = this.#lexer;
    const isLineStart = window.isLineStart(window.index);
    if (block.format === 'fence' || (!lexer.isInCode && !isLineStart)) return undefined;
    const tag = this.#tags.match(window.chunk, window.index, window.isLast);
    if (tag === 'partial') return 'stopped';
    if (tag === undefined || tag.name !== block.tag) return undefined;
    if (tag.closing) return this.#close(block, window.index, tag.end, isLineStart);
    this.#nest(tag.end);
    return undefined;
  }

  /** Handles a backtick. If the backtick is ordinary text of the script, the window stays before it. */
  #atBacktick(block: OpenBlock): BlockEnd | 'stopped' | undefined {
    const window = this.#window;
    const lexer = this.#lexer;
    const head = window.headBefore(window.index);
    if (head === undefined || head.trim() !== '') return undefined;
    if (block.format === 'fence' && allowsScriptFence(head)) {
      const { chunk, index, isLast } = window;
      const closing = matchClosingRun(chunk, index, BACKTICK, block.fenceLength, isLast);
      if (closing === 'partial') return 'stopped';
      if (closing !== undefined) return this.#close(block, index, closing, true, index - head.length);
    }
    return lexer.isInCode ? this.#passFenceLine(block, head) : undefined;
  }

  /**
   * Skips three or more backticks at the start of a line of code: such backticks are Markdown around the code, not a
   * template.
   */
  #passFenceLine(block: OpenBlock, head: string): 'stopped' | undefined {
    const window = this.#window;
    const end = endOfRun(window.chunk, window.index);
    const length = end - window.index;
    if (end === window.chunk.length && !window.isLast) {
      if (length <= MAX_RUN) return 'stopped';
      this.#isInLongRun = true;
    }
    if (length < 3) return undefined;
    if (block.format === 'fence' && length <= MAX_RUN && allowsScriptFence(head)) {
      const info = this.#tags.matchScriptInfo(window.chunk, end, window.isLast);
      if (info === 'partial') return 'stopped';
      if (info !== undefined) {
        this.#nest(info.end);
        return undefined;
      }
    }
    window.index = end;
    this.#lexer.skip();
    return undefined;
  }

  #nest(end: number): void {
    if (!this.#lexer.isInCode) return;
    this.#depth += 1;
    this.#nestedAt ??= this.#window.position;
    this.#window.index = end;
    this.#lexer.skip();
  }

  /**
   * Handles a closing tag or line, from `index` to `end`: the tag or line ends the block, closes a nested block, or is
   * stored as the block's possible end.
   */
  #close(block: OpenBlock, index: number, end: number, isLineStart: boolean, sourceEnd = index): BlockEnd | undefined {
    const window = this.#window;
    const lexer = this.#lexer;
    if (lexer.isInCode) this.#depth -= 1;
    const isClose = lexer.isInCode && this.#depth === 0;
    const blockEnd: BlockEnd = {
      block,
      sourceEnd: Math.max(window.answerPosition(sourceEnd), block.bodyStart),
      end: window.answerPosition(end),
      problem: this.#problemHere(),
    };
    // A template cannot contain a bare line of backticks, so this line must be the end of the fence.
    const isBrokenTemplate = block.format === 'fence' && lexer.surroundings === 'template literal';
    const isOutOfPatience = isLineStart && this.#fallbacksTaken >= PATIENCE;
    if (isClose || isBrokenTemplate || isOutOfPatience) {
      window.index = end;
      return blockEnd;
    }
    if (isLineStart) this.#fallback ??= blockEnd;
    if (lexer.isInCode) {
      window.index = end;
      lexer.skip();
    }
    return undefined;
  }

  #problemHere(): BlockProblem | undefined {
    if (this.#nestedAt !== undefined) return { type: 'nested', at: this.#nestedAt };
    if (this.#lexer.isInCode) return undefined;
    return { type: 'unclosed-literal', at: this.#lexer.surroundingsStart, literal: this.#lexer.surroundings };
  }

  #problemAtEnd(position: number): BlockProblem {
    const problem = this.#problemHere();
    if (problem?.type === 'nested') return problem;
    const { surroundings, surroundingsStart } = this.#lexer;
    return { type: 'unfinished', at: surroundings === 'code' ? position : surroundingsStart, inside: surroundings };
  }

  /**
   * Handles an answer that ends inside the block. The block ends at its `fallback`; without a `fallback`, it ends with
   * the answer.
   */
  #endWithAnswer(block: OpenBlock): BlockEnd {
    const window = this.#window;
    const fallback = this.#fallback;
    if (fallback !== undefined) {
      this.#fallbacksTaken += 1;
      return fallback;
    }
    const { position } = window;
    return { block, sourceEnd: position, end: position, problem: this.#problemAtEnd(position) };
  }

  #passLongRun(): void {
    const window = this.#window;
    while (window.chunk.charCodeAt(window.index) === BACKTICK) window.index += 1;
    this.#isInLongRun = window.index === window.chunk.length && !window.isLast;
  }
}

type BlockSegment = Extract<AnswerSegment, { type: 'script' | 'malformed' }>;

const REST_OF_OPENING_LINE = /[ \t]*\r?\n/y;

const NEWLINE = 0x0a;

/** The segment of a finished block; `raw` is its whole text. */
export function blockSegment(end: BlockEnd, raw: string): BlockSegment {
  const { block } = end;
  const sourceStart = startOfSource(end, raw);
  const source = raw.slice(sourceStart, Math.max(end.sourceEnd - block.start, sourceStart));
  const { language, format } = block;
  if (end.problem === undefined) return { type: 'script', raw, source, language, format };
  const failure = blockFailure(block, end.problem, source, block.start + sourceStart);
  return { type: 'malformed', raw, source, language, format, failure };
}

/** The segment of a closing tag that closes nothing. */
export function strayClosingTag(name: string, raw: string): AnswerSegment {
  const message = `The closing tag </${name}> has no <${name}> before it. Put the opening tag before the script, and send the script again.`;
  const failure = scriptFailure('ScriptSyntaxError', message, { phase: 'detecting' });
  return { type: 'malformed', raw, source: '', language: 'ts', format: 'xml', failure };
}

/**
 * The index in `raw` at which the source starts. After an opening tag, the source starts on the next line, or directly
 * after the tag if the rest of the tag's line is not blank.
 */
function startOfSource({ block, sourceEnd }: BlockEnd, raw: string): number {
  const body = block.bodyStart - block.start;
  if (block.format === 'fence') return body;
  REST_OF_OPENING_LINE.lastIndex = body;
  const begins = REST_OF_OPENING_LINE.test(raw) ? REST_OF_OPENING_LINE.lastIndex : body;
  return Math.min(begins, sourceEnd - block.start);
}

function blockFailure(block: OpenBlock, problem: BlockProblem, source: string, sourceStart: number): ScriptFailure {
  const opening = block.format === 'xml' ? `<${block.tag}>` : 'fenced tool-calls block';
  const closing = block.format === 'xml' ? `</${block.tag}>` : 'closing line of backticks';
  const at = positionIn(source, problem.at - sourceStart);
  switch (problem.type) {
    case 'nested':
      return detecting(
        `Another ${opening} opens on line ${at.line} inside this block. Close the first block before the next one, and send both again.`,
        at,
      );
    case 'unclosed-literal':
      return detecting(
        `The ${problem.literal} that begins on line ${at.line} is still open at the script's ${closing}. Close the ${problem.literal}, and send the script again.`,
        at,
      );
    case 'unfinished': {
      const inside = problem.inside === 'code' ? '' : `, inside the ${problem.inside} that begins on line ${at.line}`;
      return detecting(`The answer ended before the script's ${closing}${inside}. Send the whole script again.`, at);
    }
  }
}

function detecting(message: string, at: SourcePosition): ScriptFailure {
  return scriptFailure('ScriptSyntaxError', message, { phase: 'detecting', ...at });
}

function positionIn(source: string, offset: number): SourcePosition {
  let line = 1;
  let lineStart = 0;
  for (let index = 0; index < offset && index < source.length; index += 1) {
    if (source.charCodeAt(index) !== NEWLINE) continue;
    line += 1;
    lineStart = index + 1;
  }
  return { line, column: Math.max(offset - lineStart, 0) + 1 };
}

const TAB = 0x09;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;

/**
 * Emits, piece by piece, the text that certainly belongs to the source of an open block. All pieces and the `rest`,
 * joined, are the source.
 */
export class SourceEmitter {
  /**
   * The state of the opening tag's line. Blank text after the tag on this line is not source. `return`: the scanner has
   * read a CR that may end the line.
   */
  #openingLine: 'blank' | 'return' | 'passed' = 'passed';
  /**
   * Text that was read but might not be source: white space after the opening tag, or the indentation of a closing
   * line.
   */
  #held = '';
  #readTo = 0;
  #emitted = 0;

  readonly #window: AnswerWindow;
  readonly #block: BlockScanner;

  constructor(window: AnswerWindow, block: BlockScanner) {
    this.#window = window;
    this.#block = block;
  }

  /** Starts a block. The window is at the start of the block's body. */
  begin(format: 'xml' | 'fence'): void {
    this.#openingLine = format === 'xml' ? 'blank' : 'passed';
    this.#held = '';
    this.#readTo = this.#window.position;
    this.#emitted = 0;
  }

  /** Returns the source that is certain from the text up to the window's index. */
  next(): string {
    const window = this.#window;
    const block = this.#block;
    const { doubtfulFrom } = block;
    const to = doubtfulFrom ?? window.position;
    if (to <= this.#readTo) return '';
    const source = this.#read(window.between(this.#readTo, to));
    this.#readTo = to;
    if (this.#openingLine !== 'passed') return '';
    this.#held = doubtfulFrom === undefined ? block.headOfClosingLine() : '';
    const certain = source.slice(0, source.length - this.#held.length);
    this.#emitted += certain.length;
    return certain;
  }

  /** The part of the finished source that has not been emitted yet. */
  rest(source: string): string {
    return source.slice(this.#emitted);
  }

  /**
   * Returns the held text plus the piece, without the rest of the opening line. This function examines only the piece,
   * because the held text may be long.
   */
  #read(piece: string): string {
    for (let index = 0; index < piece.length && this.#openingLine !== 'passed'; index += 1) {
      const character = piece.charCodeAt(index);
      if (this.#openingLine === 'blank' && (character === SPACE || character === TAB)) continue;
      const isReturn = this.#openingLine === 'blank' && character === CARRIAGE_RETURN;
      this.#openingLine = isReturn ? 'return' : 'passed';
      if (character === NEWLINE) return piece.slice(index + 1);
    }
    this.#held += piece;
    return this.#held;
  }
}
