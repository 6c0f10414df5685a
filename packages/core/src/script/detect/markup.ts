import type { ScriptLanguage } from '../../protocol/script.js';

/** Names of the tags around a model's reasoning. The detector finds no scripts inside these tags. */
export const REASONING_TAGS: readonly string[] = ['thinking', 'think'];

export interface TagMatch {
  readonly kind: 'script' | 'reasoning';
  readonly closing: boolean;
  readonly name: string;
  readonly language: ScriptLanguage;
  /** Index after the tag's `>`. */
  readonly end: number;
}

/** The result of a match. `partial`: the decision needs more text. */
type Match<T> = T | 'partial' | undefined;

const LANGUAGE = `lang=(?:"(ts|typescript|js|javascript)"|'(ts|typescript|js|javascript)')`;

/** The rest of an opening tag, whose only other attribute is the nonce. */
function openingRest(nonce: string | undefined): RegExp {
  const id = `id=(?:"${nonce}"|'${nonce}')`;
  const language = `(?:[ \\t]{1,16}${LANGUAGE})?`;
  // defence: tags-carry-the-nonce
  const attributes = nonce === undefined ? language : `${language}[ \\t]{1,16}${id}${language}`;
  return new RegExp(`${attributes}[ \\t]{0,16}>`, 'y');
}

// The repetition limits of the patterns bound the text that is withheld for an unfinished tag.
const OPENING_REST_SO_FAR = /(?:[ \t]{1,16}[a-z]{0,4}(?:=(?:["'][\w-]{0,64}["']?)?)?){0,3}[ \t]{0,16}$/y;
const PLAIN_REST = /[ \t]{0,16}>/y;
const PLAIN_REST_SO_FAR = /[ \t]{0,16}$/y;

const SLASH = 0x2f;

/** The tags with a meaning in an answer. */
export class TagTable {
  readonly #tags: readonly { readonly name: string; readonly kind: TagMatch['kind'] }[];
  readonly #openingRest: RegExp;
  readonly #fenceInfo: FenceInfo;

  /** `nonce`: the tags and fences of scripts must carry it. */
  constructor(
    scriptTags: readonly string[],
    readonly nonce?: string,
  ) {
    this.#openingRest = openingRest(nonce);
    this.#fenceInfo = fenceInfo(nonce);
    this.#tags = [
      ...scriptTags.map((name) => ({ name, kind: 'script' as const })),
      ...REASONING_TAGS.map((name) => ({ name, kind: 'reasoning' as const })),
    ];
  }

  /** The tag that begins with the `<` at `index`. With `isLast`, the text is complete and nothing is partial. */
  match(text: string, index: number, isLast: boolean): Match<TagMatch> {
    const closing = text.charCodeAt(index + 1) === SLASH;
    const nameStart = index + (closing ? 2 : 1);
    let partial = false;
    for (const { name, kind } of this.#tags) {
      if (text.startsWith(name, nameStart)) {
        const match = this.#matchRest(text, nameStart + name.length, { name, kind, closing });
        if (typeof match === 'object') return match;
        if (match === 'partial') partial = true;
      } else if (text.length - nameStart < name.length && name.startsWith(text.slice(nameStart))) {
        partial = true;
      }
    }
    return partial && !isLast ? 'partial' : undefined;
  }

  /** Matches the rest of a line after its opening backticks, if this rest marks the fence as a script. */
  matchScriptInfo(text: string, index: number, isLast: boolean): Match<ScriptFenceMatch> {
    const info = isLast ? this.#fenceInfo.atEnd : this.#fenceInfo.whole;
    info.lastIndex = index;
    const match = info.exec(text);
    if (match !== null) return { language: fenceLanguage(match[1]), end: info.lastIndex };
    if (isLast) return undefined;
    SCRIPT_INFO_SO_FAR.lastIndex = index;
    return SCRIPT_INFO_SO_FAR.test(text) ? 'partial' : undefined;
  }

  #matchRest(text: string, index: number, tag: Pick<TagMatch, 'name' | 'kind' | 'closing'>): Match<TagMatch> {
    const hasAttributes = tag.kind === 'script' && !tag.closing;
    const rest = hasAttributes ? this.#openingRest : PLAIN_REST;
    rest.lastIndex = index;
    const match = rest.exec(text);
    if (match !== null) {
      return {
        ...tag,
        language: fenceLanguage(match.slice(1).find((word) => word !== undefined)),
        end: rest.lastIndex,
      };
    }
    const soFar = hasAttributes ? OPENING_REST_SO_FAR : PLAIN_REST_SO_FAR;
    soFar.lastIndex = index;
    return soFar.test(text) ? 'partial' : undefined;
  }
}

function fenceLanguage(word: string | undefined): ScriptLanguage {
  return word === 'js' || word === 'javascript' ? 'js' : 'ts';
}

/** Maximum length of a run of backticks or tildes; a longer run is plain text. */
export const MAX_RUN = 32;

export const BACKTICK = 0x60;
export const TILDE = 0x7e;

const TAB = 0x09;
const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;

/**
 * Maximum length of a line that closes a fence. It limits the length of the unfinished closing line that is withheld.
 */
const MAX_CLOSING_LINE = 128;

const SCRIPT_FENCE_HEAD = /^\uFEFF? {0,3}$/;
const FENCE_HEAD = /^\uFEFF?[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*$/;

const SCRIPT_INFO_SO_FAR =
  /[ \t]{0,16}(?:[a-z]{1,10}(?:[ \t]{1,16}(?:[a-z-]{1,10}(?:[ \t]{1,16}(?:[id]{1,2}=?["']?[\w-]{0,64}["']?)?)?[ \t]{0,16}\r?)?)?)?$/y;

/** Patterns for the rest of a script's opening line: with its line break, and at the end of the answer. */
interface FenceInfo {
  readonly whole: RegExp;
  readonly atEnd: RegExp;
}

function fenceInfo(nonce: string | undefined): FenceInfo {
  const languages = '[ \\t]{0,16}(ts|typescript|js|javascript)[ \\t]{1,16}tool-calls';
  // defence: fences-carry-the-nonce
  const id = nonce === undefined ? '' : `[ \\t]{1,16}id=(?:${nonce}|"${nonce}"|'${nonce}')`;
  const info = `${languages}${id}[ \\t]{0,16}\\r?`;
  return { whole: new RegExp(`${info}\\n`, 'y'), atEnd: new RegExp(`${info}(?:\\n|$)`, 'y') };
}

/** A fence that contains only text. */
export interface TextFence {
  readonly character: number;
  readonly length: number;
  /** Number of characters before the fence on its line. */
  readonly indent: number;
}

interface ScriptFenceMatch {
  readonly language: ScriptLanguage;
  /** Index after the opening line. */
  readonly end: number;
}

/** Whether a script's fence may follow `head`, the beginning of its line. */
export function allowsScriptFence(head: string | undefined): boolean {
  return head !== undefined && SCRIPT_FENCE_HEAD.test(head);
}

/** Whether any fence may follow `head`: true if `head` contains only indentation and list markers. */
export function allowsFence(head: string | undefined): head is string {
  return head !== undefined && FENCE_HEAD.test(head);
}

/** The index after the run of the same character that starts at `index`. */
export function endOfRun(text: string, index: number): number {
  const character = text.charCodeAt(index);
  let end = index + 1;
  while (text.charCodeAt(end) === character) end += 1;
  return end;
}

/**
 * Matches a closing run at `index` that is at least `length` long and alone on the rest of its line. Returns the index
 * where the line ends, excluding its line break.
 */
export function matchClosingRun(
  text: string,
  index: number,
  character: number,
  length: number,
  isLast: boolean,
): Match<number> {
  let end = index;
  while (text.charCodeAt(end) === character) end += 1;
  const run = end - index;
  if (run < length && end < text.length) return undefined;
  while (isBlank(text.charCodeAt(end))) end += 1;
  if (end - index > MAX_CLOSING_LINE) return undefined;
  const afterReturn = text.charCodeAt(end) === CARRIAGE_RETURN ? end + 1 : end;
  if (afterReturn >= text.length && !isLast) return 'partial';
  const ended = afterReturn >= text.length || text.charCodeAt(afterReturn) === NEWLINE;
  return ended && run >= length ? end : undefined;
}

/** Matches the line at `index` if it closes the text fence. Returns the index where the line ends. */
export function matchClosingLine(text: string, index: number, fence: TextFence, isLast: boolean): Match<number> {
  let width = 0;
  let start = index;
  while (isBlank(text.charCodeAt(start)) && width <= fence.indent + 3) {
    width += text.charCodeAt(start) === TAB ? 4 : 1;
    start += 1;
  }
  if (width > fence.indent + 3) return undefined;
  return matchClosingRun(text, start, fence.character, fence.length, isLast);
}

function isBlank(character: number): boolean {
  return character === SPACE || character === TAB;
}
