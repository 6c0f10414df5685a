import { deepCopy } from './copied.ts';

/** A separately rendered part of a Markdown text. */
export interface MarkdownBlock {
  readonly text: string;
  /** The line that opened the code; present if this block is a code block or continues one. */
  readonly fence?: string | undefined;
}

/** A list whose items have blank lines between them is divided after this length. */
const MIN_LIST = 1_000;
/** The maximum length of a block. A longer block is divided, because browsers lay a block out as a whole. */
const MAX_BLOCK = 8_000;
/** The number of characters at the start of a line that are enough to recognize a list item. */
const MARKER_LENGTH = 12;

const LIST_ITEM = /^(?:[-*+]|\d{1,9}[.)])[ \t]/u;
const FENCE = /^([ \t]*)(`{3,}(?!`)(?!.*`)|~{3,})/u;
const DEFINITION = /^ {0,3}\[(?!\^)[^\]\n\r\u2028\u2029]+\]:[ \t]*\S.*$/gmu;

/** The position at which an open block ends or is divided. */
interface BlockEnd {
  readonly at: number;
  /** The line that opened the code; present if the division is inside of a code block. */
  readonly fence?: string | undefined;
}

/**
 * Divides a Markdown text at blank lines and around code, so that only the last block is rendered again while the text
 * grows. The joined texts of the blocks equal the whole text. If a text continues the previous text, all blocks except
 * the last one stay the same.
 */
export class MarkdownBlocks {
  #text = '';
  #blocks: MarkdownBlock[] = [];
  #definitions: string[] = [];
  /** The start of the last block, which may still grow. */
  #open: BlockEnd = { at: 0 };

  /** Returns the blocks of a text. `definitions`: the link definitions of all blocks. Any block may refer to them. */
  read(text: string): { readonly blocks: readonly MarkdownBlock[]; readonly definitions: string } {
    if (!text.startsWith(this.#text)) this.#reset();
    this.#text = text;
    for (let end = this.#endOfOpen(); end !== undefined; end = this.#endOfOpen()) {
      const block = this.#blockUntil(end.at);
      this.#blocks.push(block);
      this.#definitions.push(...definitionsIn(block));
      this.#open = end;
    }
    const last = this.#open.at === text.length ? [] : [this.#blockUntil(text.length)];
    return {
      blocks: [...this.#blocks, ...last],
      definitions: [...this.#definitions, ...last.flatMap(definitionsIn)].join('\n'),
    };
  }

  #reset(): void {
    this.#blocks = [];
    this.#definitions = [];
    this.#open = { at: 0 };
  }

  #blockUntil(end: number): MarkdownBlock {
    const text = deepCopy(this.#text.slice(this.#open.at, end));
    const fence = this.#open.fence ?? openedFence(lineAt(text, 0));
    return fence === undefined ? { text } : { text, fence };
  }

  /** The end of the open block; undefined if more text may belong to it. */
  #endOfOpen(): BlockEnd | undefined {
    const { at, fence } = this.#open;
    const opened = fence ?? openedFence(lineAt(this.#text, at));
    return opened === undefined ? endOfProse(this.#text, at) : endOfCode(this.#text, at, opened, fence === undefined);
  }
}

function endOfProse(text: string, start: number): BlockEnd | undefined {
  let [hasText, isList, isAfterBlank] = [false, false, false];
  /** The line that opened code inside of a list item. */
  let inner: string | undefined;
  for (let at = start; at < text.length;) {
    const line = lineAt(text, at);
    if (at > start) {
      if (at + line.length - start > MAX_BLOCK) return { at };
      if (inner === undefined && isWhole(line)) {
        const opensCode = openedFence(line) !== undefined && (!isList || !/^\s/u.test(line));
        const continuesList = isList && LIST_ITEM.test(line) && at - start < MIN_LIST;
        if (opensCode || (hasText && isAfterBlank && /^\S/u.test(line) && !continuesList)) return { at };
      }
    } else if (line.length > MAX_BLOCK) return { at: at + wholeCharacters(line, MAX_BLOCK) };
    isAfterBlank = line.trim() === '';
    if (!hasText && !isAfterBlank) [hasText, isList] = [true, LIST_ITEM.test(line)];
    if (line.endsWith('\n')) inner = fenceAfter(line, inner);
    at += line.length;
  }
  return undefined;
}

/**
 * The end of an open block of code. `fence`: the line that opened the code, which is the block's first line if
 * `isOpened`.
 */
function endOfCode(text: string, start: number, fence: string, isOpened: boolean): BlockEnd | undefined {
  for (let at = start; at < text.length;) {
    const line = lineAt(text, at);
    if (at > start && at + line.length - start > MAX_BLOCK) return { at, fence };
    if (line.length > MAX_BLOCK) return { at: at + wholeCharacters(line, MAX_BLOCK), fence };
    const isOpening = isOpened && at === start;
    at += line.length;
    if (!isOpening && line.endsWith('\n') && closesFence(line, fence)) return { at };
  }
  return undefined;
}

/** The code of a block that has a fence, without the lines that open and close it. */
export function blockCode({ text, fence = '' }: MarkdownBlock): { readonly language: string; readonly code: string } {
  const isOpened = text.startsWith(fence) || fence.startsWith(text);
  const body = isOpened ? text.slice(fence.length) : text;
  const lastAt = body.lastIndexOf('\n', body.length - 2) + 1;
  const code = closesFence(body.slice(lastAt), fence) ? body.slice(0, lastAt) : body;
  return { language: /[`~]\s*([^\s`~]+)/u.exec(fence)?.[1] ?? '', code: code.replace(/\n$/u, '') };
}

/** The line at an index, with its line break. */
function lineAt(text: string, at: number): string {
  const newline = text.indexOf('\n', at);
  return newline === -1 ? text.slice(at) : text.slice(at, newline + 1);
}

/** Whether enough of the line has arrived to know the kind of block that it begins. */
function isWhole(line: string): boolean {
  return line.endsWith('\n') || line.length >= MARKER_LENGTH;
}

/** The length of the longest prefix of a line that has at most `length` code units and ends between characters. */
function wholeCharacters(line: string, length: number): number {
  const unit = line.charCodeAt(length - 1);
  return unit >= 0xd800 && unit < 0xdc00 ? length - 1 : length;
}

/** The line, if it opens a code block outside of lists; undefined otherwise. */
function openedFence(line: string): string | undefined {
  const [, indent = '    '] = FENCE.exec(line) ?? [];
  return line.endsWith('\n') && indent.length <= 3 && !indent.includes('\t') ? line : undefined;
}

function fenceAfter(line: string, fence: string | undefined): string | undefined {
  if (fence === undefined) return FENCE.test(line) ? line : undefined;
  return closesFence(line, fence) ? undefined : fence;
}

function closesFence(line: string, fence: string): boolean {
  const mark = line.trim();
  const opening = FENCE.exec(fence)?.[2];
  return opening !== undefined && mark.startsWith(opening) && mark === opening[0]!.repeat(mark.length);
}

function definitionsIn({ text, fence }: MarkdownBlock): readonly string[] {
  return fence === undefined && text.includes(']:') ? (text.match(DEFINITION) ?? []) : [];
}
