import { ToolscriptUsageError } from '../../protocol/errors.js';
import type { AnswerSegment, ScriptLanguage } from '../../protocol/script.js';
import { BlockScanner, blockSegment, SourceEmitter, strayClosingTag, type OpenBlock } from './block.js';
import { REASONING_TAGS, TagTable, type TagMatch } from './markup.js';
import { TextScanner, type Opening } from './text.js';
import { AnswerWindow, GrowingText } from './window.js';

/**
 * Finds the scripts in a model's answer while it streams.
 *
 * The detector splits the answer into segments: text, reasoning, scripts and malformed blocks. Two invariants hold for
 * every answer: the `raw` of all segments, joined, is the answer byte for byte; and the segments do not depend on how
 * the answer was split into deltas. The time is linear in the answer's length.
 *
 * - `<tool-calls> … </tool-calls>` is a script. Spaces may precede `>`, and `lang="ts"` or `lang="js"` may name the
 *   language; with any other attribute the tag is text. Only a closing tag of the same name closes the script.
 * - A line of three or more backticks, indented by three spaces at most, and `ts tool-calls` (or `typescript`, `js`,
 *   `javascript`) opens a script too; a line of at least as many backticks and nothing else closes it.
 * - Every other fence, `~~~` included, is text to its closing line or to the end of the answer. It may be indented and
 *   may follow list markers.
 * - With a nonce, only `<tool-calls id="NONCE">` and `ts tool-calls id=NONCE` open a script.
 * - A script's tag is text after a backslash, on a line that begins with `>` (a quote), and on a line that begins with a
 *   tab or four spaces (indented code). An HTML comment is text to its end, or to the end of the answer.
 * - A code span is text: a run of backticks to the next run of the same length in the same paragraph. A blank line, a
 *   line that begins with an opening tag, and a fence end the paragraph, so that a stray backtick hides no later block.
 *   Runs of more than 32 backticks are plain text.
 * - `<thinking>` and `<think>` hold reasoning, in which no script is found. Reasoning without a closing tag reaches the
 *   answer's end.
 * - Inside a script, strings, templates, comments and regular expressions hide a closing tag. If the answer ends
 *   without a close, the first closing tag at a line's start ends the block as malformed, and detection continues after
 *   this tag. After eight such blocks in one answer, the next ones end at their first closing tag at a line's start
 *   without waiting; this keeps the time linear.
 * - A template literal cannot hold a bare line of backticks, so the closing line of a fence ends a script with an open
 *   template at once, as malformed.
 *
 * Text is withheld only while it may still turn out to be a block: a beginning tag or fence line, or a tag inside a
 * code span that has not been closed yet.
 */
export interface Detector {
  /**
   * Takes the next delta of the answer and returns the resulting events, in order. An empty array is shared and must
   * not be changed.
   */
  push(delta: string): readonly DetectorEvent[];
  /** Ends the answer and returns the remaining events. A repeated call returns nothing. */
  end(): readonly DetectorEvent[];
}

export interface DetectorOptions {
  /** Names of the tags that hold scripts. Default: `['tool-calls']`. */
  tags?: readonly string[] | undefined;
  /** Whether fenced `tool-calls` blocks are scripts. Default: true. */
  fences?: boolean | undefined;
  /**
   * The random text that the tags and fences of this conversation's scripts carry: `<tool-calls id="NONCE">` and
   * `ts tool-calls id=NONCE`. All other tags and fences are then text. Default: tags and fences carry nothing.
   */
  nonce?: string | undefined;
  /** Also emits the source of a block while it streams: `script_start` and `source_delta`. Default: false. */
  sourceDeltas?: boolean | undefined;
}

/**
 * Creates a detector for one answer.
 *
 * @throws ToolscriptUsageError if the nonce is malformed, if a tag's name is not a plain XML name, or is one of the reasoning tags. `push` throws
 *   the same error if the delta is not a string or the answer has ended.
 */
export function createDetector(options: DetectorOptions = {}): Detector {
  const { tags = ['tool-calls'], fences = true, nonce, sourceDeltas = false } = options;
  const scanner = new AnswerScanner(new TagTable(checkedTags(tags), checkedNonce(nonce)), fences, sourceDeltas);
  return {
    push: (delta) => scanner.push(delta),
    end: () => scanner.end(),
  };
}

/** Splits a whole answer into its segments. */
export function detectScripts(text: string, options?: DetectorOptions): AnswerSegment[] {
  const detector = createDetector(options);
  const segments: AnswerSegment[] = [];
  for (const event of [...detector.push(text), ...detector.end()]) {
    if (event.type === 'segment') segments.push(event.segment);
  }
  return segments;
}

const NONCE = /^[\w-]{1,64}$/;

function checkedNonce(nonce: string | undefined): string | undefined {
  if (nonce !== undefined && !(typeof nonce === 'string' && NONCE.test(nonce)))
    throw new ToolscriptUsageError('SCRIPT_NONCE_INVALID', { nonce: JSON.stringify(nonce) });
  return nonce;
}

const TAG_NAME = /^[A-Za-z][\w.:-]{0,63}$/;

function checkedTags(tags: readonly string[]): readonly string[] {
  for (const tag of tags) {
    if (typeof tag !== 'string' || !TAG_NAME.test(tag)) {
      throw new ToolscriptUsageError('SCRIPT_TAG_INVALID', { tag: JSON.stringify(tag) });
    }
    if (REASONING_TAGS.includes(tag)) {
      throw new ToolscriptUsageError('SCRIPT_TAG_OF_REASONING', { tag });
    }
  }
  return [...new Set(tags)];
}

/**
 * `text_delta` and `reasoning_delta` carry the segment's `text` in pieces; the finished `segment` follows and contains
 * the whole text. Scripts and malformed blocks arrive as one `segment`, without deltas.
 *
 * With `sourceDeltas`, `script_start` reports that a block has opened, and `source_delta` carries its source. The
 * joined deltas of a block are the `source` of its segment, whether a script or malformed: text that might not belong
 * to the source is withheld. Such text is the beginning of a closing tag or line. It is also all text after a closing
 * tag at a line's start that did not close the block (inside a literal, or of a nested block), because the block may
 * turn out to have ended there. A closing tag that closes nothing becomes a malformed segment without a `script_start`.
 */
export type DetectorEvent =
  | { readonly type: 'text_delta'; readonly text: string }
  | { readonly type: 'reasoning_delta'; readonly text: string }
  | { readonly type: 'script_start'; readonly language: ScriptLanguage; readonly format: 'xml' | 'fence' }
  | { readonly type: 'source_delta'; readonly text: string }
  | { readonly type: 'segment'; readonly segment: AnswerSegment };

const NOTHING: readonly DetectorEvent[] = Object.freeze([]);

interface OpenReasoning {
  readonly tag: string;
  readonly openingTag: string;
}

/**
 * The state machine of one answer: text, a script block, or reasoning. Each state's scanner advances the window and
 * returns the construct that it found; this class converts the construct to events and chooses the next state.
 *
 * `writtenTo` is the position up to which the answer has become events or part of an open segment. A rewind may move
 * before this position; the text is then read again, but not written again.
 */
export class AnswerScanner {
  readonly #window = new AnswerWindow();
  readonly #text: TextScanner;
  readonly #block: BlockScanner;
  /** Emits the source of open blocks. Undefined: scripts are reported only as a whole. */
  readonly #source: SourceEmitter | undefined;

  #state: 'text' | 'block' | 'reasoning' | 'ended' = 'text';
  #reasoning: OpenReasoning = { tag: '', openingTag: '' };
  #writtenTo = 0;
  /** The open segment's text up to `writtenTo`. */
  readonly #written = new GrowingText();
  #events: DetectorEvent[] = [];
  #isPlain = true;

  readonly #tags: TagTable;

  constructor(tags: TagTable, hasScriptFences: boolean, emitsSource = false) {
    this.#tags = tags;

    this.#text = new TextScanner(this.#window, this.#tags, hasScriptFences);
    this.#block = new BlockScanner(this.#window, this.#tags);
    this.#source = emitsSource ? new SourceEmitter(this.#window, this.#block) : undefined;
  }

  /** The number of characters that were scanned more than once. */
  get rescanned(): number {
    return this.#window.rescanned;
  }

  push(delta: string): readonly DetectorEvent[] {
    if (typeof delta !== 'string')
      throw new ToolscriptUsageError('ARGUMENT_INVALID', {
        method: 'push() of a detector',
        expected: 'a string: the next part of the answer',
      });
    if (this.#state === 'ended') throw new ToolscriptUsageError('DETECTOR_ENDED');
    if (delta === '') return NOTHING;
    if (this.#isPlain && !mayBegin(delta)) return this.#passText(delta);
    this.#run(delta, false);
    return this.#takeEvents();
  }

  end(): readonly DetectorEvent[] {
    if (this.#state === 'ended') return NOTHING;
    this.#run('', true);
    if (this.#state === 'reasoning') this.#finishReasoning('');
    else this.#finishText();
    this.#state = 'ended';
    return this.#takeEvents();
  }

  /** Handles a delta of prose without any special character, the common case. */
  #passText(delta: string): readonly DetectorEvent[] {
    this.#window.pass(delta);
    this.#writtenTo += delta.length;
    this.#written.append(delta);
    return [{ type: 'text_delta', text: delta }];
  }

  #run(delta: string, isLast: boolean): void {
    const window = this.#window;
    window.load(delta, isLast);
    while (this.#advance());
    window.park(this.#state === 'block' ? this.#block.keepFrom : this.#text.keepFrom);
    this.#isPlain = this.#state === 'text' && this.#text.isPlain && !window.isCarrying;
  }

  /** Continues to the next change of state. Returns false if the scanner needs more text. */
  #advance(): boolean {
    switch (this.#state) {
      case 'text':
        return this.#advanceText();
      case 'block':
        return this.#advanceBlock();
      default:
        return this.#advanceReasoning();
    }
  }

  #advanceText(): boolean {
    const window = this.#window;
    const opening = this.#text.scan();
    if (opening === undefined) {
      this.#write('text_delta', this.#text.heldFrom ?? window.position);
      return false;
    }
    this.#write('text_delta', window.answerPosition(opening.start));
    this.#finishText();
    this.#open(opening);
    return true;
  }

  #open(opening: Opening): void {
    const window = this.#window;
    const start = window.answerPosition(opening.start);
    if (opening.type === 'fence') {
      const { language, length } = opening;
      window.index = opening.end;
      this.#openBlock({ format: 'fence', language, tag: '', fenceLength: length, start, bodyStart: window.position });
    } else {
      window.index = opening.tag.end;
      this.#openTag(opening.tag, start);
    }
  }

  #openTag(tag: TagMatch, start: number): void {
    const window = this.#window;
    if (tag.kind === 'reasoning') {
      this.#reasoning = { tag: tag.name, openingTag: window.between(start, window.position) };
      this.#state = 'reasoning';
      this.#writtenTo = window.position;
    } else if (tag.closing) {
      this.#emitSegment(strayClosingTag(tag.name, window.between(start, window.position)));
      this.#leaveBlock();
    } else {
      const { language, name } = tag;
      this.#openBlock({ format: 'xml', language, tag: name, fenceLength: 0, start, bodyStart: window.position });
    }
  }

  #openBlock(block: OpenBlock): void {
    this.#block.open(block);
    this.#state = 'block';
    if (this.#source === undefined) return;
    const { language, format } = block;
    this.#source.begin(format);
    this.#events.push({ type: 'script_start', language, format });
  }

  #advanceBlock(): boolean {
    const window = this.#window;
    const end = this.#block.scan();
    if (end === undefined) {
      if (this.#source !== undefined) this.#emitSource(this.#source.next());
      return false;
    }
    const segment = blockSegment(end, window.between(end.block.start, end.end));
    if (this.#source !== undefined) this.#emitSource(this.#source.rest(segment.source));
    this.#emitSegment(segment);
    if (end.end < window.position) window.rewind(end.end, 'plain');
    this.#leaveBlock();
    return true;
  }

  #advanceReasoning(): boolean {
    const window = this.#window;
    for (;;) {
      const index = window.chunk.indexOf('<', window.index);
      window.index = index === -1 ? window.chunk.length : index;
      const tag = index === -1 ? 'partial' : this.#tags.match(window.chunk, index, window.isLast);
      if (tag === 'partial') {
        this.#write('reasoning_delta', window.position);
        return false;
      }
      if (tag !== undefined && tag.closing && tag.name === this.#reasoning.tag) {
        this.#write('reasoning_delta', window.position);
        window.index = tag.end;
        this.#finishReasoning(window.between(this.#writtenTo, window.position));
        this.#leaveBlock();
        return true;
      }
      window.index += 1;
    }
  }

  #emitSource(text: string): void {
    if (text !== '') this.#events.push({ type: 'source_delta', text });
  }

  /** Returns to the state for text. The text continues at the window's index, in the middle of a line. */
  #leaveBlock(): void {
    this.#state = 'text';
    this.#writtenTo = this.#window.position;
    this.#window.breakLine(undefined);
  }

  #write(type: 'text_delta' | 'reasoning_delta', to: number): void {
    if (to <= this.#writtenTo) return;
    const text = this.#window.between(this.#writtenTo, to);
    this.#written.append(text);
    this.#writtenTo = to;
    this.#events.push({ type, text });
  }

  #finishText(): void {
    if (this.#written.isEmpty) return;
    const text = this.#takeWritten();
    this.#emitSegment({ type: 'text', raw: text, text });
  }

  #finishReasoning(closingTag: string): void {
    const text = this.#takeWritten();
    this.#emitSegment({ type: 'reasoning', raw: this.#reasoning.openingTag + text + closingTag, text });
  }

  #takeWritten(): string {
    const text = this.#written.toString();
    this.#written.clear();
    return text;
  }

  #emitSegment(segment: Extract<DetectorEvent, { type: 'segment' }>['segment']): void {
    this.#events.push({ type: 'segment', segment });
  }

  #takeEvents(): readonly DetectorEvent[] {
    if (this.#events.length === 0) return NOTHING;
    const events = this.#events;
    this.#events = [];
    return events;
  }
}

/** Whether the text contains a character that can begin a block, a code span or a fence. */
function mayBegin(text: string): boolean {
  return text.includes('<') || text.includes('`') || text.includes('~');
}
