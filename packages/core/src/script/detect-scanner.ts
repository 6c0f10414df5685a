import { ToolscriptUsageError } from '../protocol/errors.js';
import { BlockScanner, type OpenBlock } from './detect-block.js';
import { blockSegment, strayClosingTag } from './detect-segments.js';
import { SourceEmitter } from './detect-source.js';
import { TagTable, type TagMatch } from './detect-tags.js';
import { TextScanner, type Opening } from './detect-text.js';
import { GrowingText } from './detect-growing-text.js';
import { AnswerWindow } from './detect-window.js';
import type { DetectorEvent } from './detect-events.js';

const NOTHING: readonly DetectorEvent[] = Object.freeze([]);

interface OpenReasoning {
  readonly tag: string;
  readonly openingTag: string;
}

/**
 * The state machine of one answer: text, a script block, or reasoning. Each state's scanner advances the window and
 * returns what it found; this class converts that to events and chooses the next state.
 *
 * `writtenTo` is the position up to which the answer has become events or part of an open segment; a rewind moves
 * before it only to read again, never to write again.
 */
export class AnswerScanner {
  private readonly window = new AnswerWindow();
  private readonly tags: TagTable;
  private readonly text: TextScanner;
  private readonly block: BlockScanner;
  /** Undefined: scripts are reported only as a whole. */
  private readonly source: SourceEmitter | undefined;

  private state: 'text' | 'block' | 'reasoning' | 'ended' = 'text';
  private reasoning: OpenReasoning = { tag: '', openingTag: '' };
  private writtenTo = 0;
  /** The open segment's text up to `writtenTo`. */
  private readonly written = new GrowingText();
  private events: DetectorEvent[] = [];
  private isPlain = true;

  constructor(scriptTags: readonly string[], hasScriptFences: boolean, emitsSource = false) {
    this.tags = new TagTable(scriptTags);
    this.text = new TextScanner(this.window, this.tags, hasScriptFences);
    this.block = new BlockScanner(this.window, this.tags);
    this.source = emitsSource ? new SourceEmitter(this.window, this.block) : undefined;
  }

  /** The number of characters that were scanned more than once. */
  get rescanned(): number {
    return this.window.rescanned;
  }

  push(delta: string): readonly DetectorEvent[] {
    if (typeof delta !== 'string') throw new ToolscriptUsageError('push() of a detector needs a string.');
    if (this.state === 'ended')
      throw new ToolscriptUsageError('This detector has ended; make one detector for each answer.');
    if (delta === '') return NOTHING;
    if (this.isPlain && !mayBegin(delta)) return this.passText(delta);
    this.run(delta, false);
    return this.takeEvents();
  }

  end(): readonly DetectorEvent[] {
    if (this.state === 'ended') return NOTHING;
    this.run('', true);
    if (this.state === 'reasoning') this.finishReasoning('');
    else this.finishText();
    this.state = 'ended';
    return this.takeEvents();
  }

  /** The common case: a delta of prose without any special character. */
  private passText(delta: string): readonly DetectorEvent[] {
    this.window.pass(delta);
    this.writtenTo += delta.length;
    this.written.append(delta);
    return [{ type: 'text_delta', text: delta }];
  }

  private run(delta: string, isLast: boolean): void {
    const { window } = this;
    window.load(delta, isLast);
    while (this.advance());
    window.park(this.state === 'block' ? this.block.keepFrom : this.text.keepFrom);
    this.isPlain = this.state === 'text' && this.text.isPlain && !window.isCarrying;
  }

  /** Continues to the next change of state; false if the window is used up. */
  private advance(): boolean {
    switch (this.state) {
      case 'text':
        return this.advanceText();
      case 'block':
        return this.advanceBlock();
      default:
        return this.advanceReasoning();
    }
  }

  private advanceText(): boolean {
    const { window } = this;
    const opening = this.text.scan();
    if (opening === undefined) {
      this.write('text_delta', this.text.heldFrom ?? window.position);
      return false;
    }
    this.write('text_delta', window.positionOf(opening.start));
    this.finishText();
    this.open(opening);
    return true;
  }

  private open(opening: Opening): void {
    const { window } = this;
    const start = window.positionOf(opening.start);
    if (opening.type === 'fence') {
      const { language, length } = opening;
      window.index = opening.end;
      this.openBlock({ format: 'fence', language, tag: '', fenceLength: length, start, bodyStart: window.position });
    } else {
      window.index = opening.tag.end;
      this.openTag(opening.tag, start);
    }
  }

  private openTag(tag: TagMatch, start: number): void {
    const { window } = this;
    if (tag.kind === 'reasoning') {
      this.reasoning = { tag: tag.name, openingTag: window.between(start, window.position) };
      this.state = 'reasoning';
      this.writtenTo = window.position;
    } else if (tag.closing) {
      this.emitSegment(strayClosingTag(tag.name, window.between(start, window.position)));
      this.leaveBlock();
    } else {
      const { language, name } = tag;
      this.openBlock({ format: 'xml', language, tag: name, fenceLength: 0, start, bodyStart: window.position });
    }
  }

  private openBlock(block: OpenBlock): void {
    this.block.open(block);
    this.state = 'block';
    if (this.source === undefined) return;
    const { language, format } = block;
    this.source.begin(format);
    this.events.push({ type: 'script_start', language, format });
  }

  private advanceBlock(): boolean {
    const { window } = this;
    const end = this.block.scan();
    if (end === undefined) {
      if (this.source !== undefined) this.emitSource(this.source.next());
      return false;
    }
    const segment = blockSegment(end, window.between(end.block.start, end.end));
    if (this.source !== undefined) this.emitSource(this.source.rest(segment.source));
    this.emitSegment(segment);
    if (end.end < window.position) window.rewind(end.end);
    this.leaveBlock();
    return true;
  }

  private advanceReasoning(): boolean {
    const { window } = this;
    for (;;) {
      const index = window.chunk.indexOf('<', window.index);
      window.index = index === -1 ? window.chunk.length : index;
      const tag = index === -1 ? 'partial' : this.tags.match(window.chunk, index, window.isLast);
      if (tag === 'partial') {
        this.write('reasoning_delta', window.position);
        return false;
      }
      if (tag !== undefined && tag.closing && tag.name === this.reasoning.tag) {
        this.write('reasoning_delta', window.position);
        window.index = tag.end;
        this.finishReasoning(window.between(this.writtenTo, window.position));
        this.leaveBlock();
        return true;
      }
      window.index += 1;
    }
  }

  private emitSource(text: string): void {
    if (text !== '') this.events.push({ type: 'source_delta', text });
  }

  /** Text continues at the window's index, in the middle of a line. */
  private leaveBlock(): void {
    this.state = 'text';
    this.writtenTo = this.window.position;
    this.window.breakLine(undefined);
  }

  private write(type: 'text_delta' | 'reasoning_delta', to: number): void {
    if (to <= this.writtenTo) return;
    const text = this.window.between(this.writtenTo, to);
    this.written.append(text);
    this.writtenTo = to;
    this.events.push({ type, text });
  }

  private finishText(): void {
    if (this.written.isEmpty) return;
    const text = this.takeWritten();
    this.emitSegment({ type: 'text', raw: text, text });
  }

  private finishReasoning(closingTag: string): void {
    const text = this.takeWritten();
    this.emitSegment({ type: 'reasoning', raw: this.reasoning.openingTag + text + closingTag, text });
  }

  private takeWritten(): string {
    const text = this.written.toString();
    this.written.clear();
    return text;
  }

  private emitSegment(segment: Extract<DetectorEvent, { type: 'segment' }>['segment']): void {
    this.events.push({ type: 'segment', segment });
  }

  private takeEvents(): readonly DetectorEvent[] {
    if (this.events.length === 0) return NOTHING;
    const { events } = this;
    this.events = [];
    return events;
  }
}

/** Whether the text contains a character that can begin a block, a code span or a fence. */
function mayBegin(text: string): boolean {
  return text.includes('<') || text.includes('`') || text.includes('~');
}
