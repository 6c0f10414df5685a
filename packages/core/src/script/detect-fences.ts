import type { ScriptLanguage } from '../protocol/script.js';
import { languageOf, type Match } from './detect-tags.js';

/** Longer runs of backticks or tildes are plain text. */
export const MAX_RUN = 32;

export const BACKTICK = 0x60;
export const TILDE = 0x7e;

const TAB = 0x09;
const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;

/** Longer lines do not close a fence. This limits how much of an unfinished closing line is withheld. */
const MAX_CLOSING_LINE = 128;

const SCRIPT_FENCE_HEAD = /^\uFEFF? {0,3}$/;
const FENCE_HEAD = /^\uFEFF?[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*$/;

const SCRIPT_INFO = /[ \t]{0,16}(ts|typescript|js|javascript)[ \t]{1,16}tool-calls[ \t]{0,16}\r?\n/y;
const SCRIPT_INFO_AT_END = /[ \t]{0,16}(ts|typescript|js|javascript)[ \t]{1,16}tool-calls[ \t]{0,16}\r?(?:\n|$)/y;
const SCRIPT_INFO_SO_FAR = /[ \t]{0,16}(?:[a-z]{1,10}(?:[ \t]{1,16}(?:[a-z-]{1,10}[ \t]{0,16}\r?)?)?)?$/y;

/** A fence whose lines are text. */
export interface TextFence {
  readonly character: number;
  readonly length: number;
  /** Width of the text before it on its line. */
  readonly indent: number;
}

export interface ScriptFenceMatch {
  readonly language: ScriptLanguage;
  /** Index after the opening line. */
  readonly end: number;
}

/** Whether a script's fence may follow `head`, the beginning of its line. */
export function allowsScriptFence(head: string | undefined): boolean {
  return head !== undefined && SCRIPT_FENCE_HEAD.test(head);
}

/** Whether any fence may follow `head`: indentation and list markers. */
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

/** The rest of a line after its opening backticks, if it makes the fence a script's. */
export function matchScriptInfo(text: string, index: number, isLast: boolean): Match<ScriptFenceMatch> {
  const info = isLast ? SCRIPT_INFO_AT_END : SCRIPT_INFO;
  info.lastIndex = index;
  const found = info.exec(text);
  if (found !== null) return { language: languageOf(found[1]), end: info.lastIndex };
  if (isLast) return undefined;
  SCRIPT_INFO_SO_FAR.lastIndex = index;
  return SCRIPT_INFO_SO_FAR.test(text) ? 'partial' : undefined;
}

/**
 * A closing run at `index`, at least `length` long and alone on the rest of its line: the index where the line ends,
 * excluding its line break.
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

/** The line at `index`, if it closes the text fence: the index where the line ends. */
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
