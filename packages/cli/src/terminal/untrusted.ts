import { INVISIBLE_CHARACTERS } from '@toolscript/core/protocol';

/**
 * Text of a script, a model, a tool or a file may contain characters that control a terminal, or that disguise the
 * text. This module shows such characters as `\u{…}`; line ends, tabs and all visible characters stay unchanged.
 */

/** Emoji, keycaps and letters that need their joiners to look right. They pass unchanged. */
const SEQUENCE = [
  String.raw`\r(?=\n)`,
  String.raw`\p{Extended_Pictographic}[\u{1F3FB}-\u{1F3FF}]?\uFE0F?(?:\u200D\p{Extended_Pictographic}[\u{1F3FB}-\u{1F3FF}]?\uFE0F?)*`,
  String.raw`[0-9#*]\uFE0F\u20E3`,
  String.raw`(?<=[\p{Script=Arabic}\p{M}])[\u200C\u200D](?=\p{L})`,
].join('|');

const HIDDEN = String.raw`(?![\t\n])[${INVISIBLE_CHARACTERS}]`;

const SEQUENCE_OR_HIDDEN = new RegExp(`(${SEQUENCE})|${HIDDEN}`, 'gu');
const ANY_HIDDEN = new RegExp(HIDDEN, 'gu');
const PLAIN = /^[\x20-\x7e\n\t]*$/;

/** Makes any text safe to print, line ends kept. */
export function visible(text: string): string {
  if (PLAIN.test(text)) return text;
  return text.replace(
    SEQUENCE_OR_HIDDEN,
    (found: string, sequence: string | undefined) => sequence ?? escapeCharacter(found),
  );
}

/** Prose on one line: line ends and tabs become spaces. */
export function visibleTitle(text: string): string {
  return visible(onOneLine(text));
}

/** Names on one line: no invisible character passes, not even in an emoji, because two names must not look the same. */
export function visibleLine(text: string): string {
  // defence: lines-show-invisible, without it: return visible(onOneLine(text)).replace(ANY_HIDDEN, (found) => found);
  return onOneLine(text).replace(ANY_HIDDEN, escapeCharacter);
}

/** The exact characters of a word on one line: line ends and tabs are also escaped. */
export function visibleWord(text: string): string {
  return visibleLine(text.replace(/[\r\n\t]/gu, escapeCharacter));
}

function onOneLine(text: string): string {
  return text.replace(/\s*\r?\n\s*|\t/gu, ' ');
}

/** `visible` for text that arrives in chunks: characters that the next chunk may change are held back. */
export class VisibleStream {
  #held = '';

  push(piece: string): string {
    const text = this.#held + piece;
    const held = /[0-9#*\r]?[^\x00-\x7f]{0,12}$/u.exec(text)?.[0] ?? '';
    this.#held = held;
    return visible(text.slice(0, text.length - held.length));
  }

  end(): string {
    const rest = visible(this.#held);
    this.#held = '';
    return rest;
  }
}

const JSON_HIDDEN = new RegExp(String.raw`(?![\n])[${INVISIBLE_CHARACTERS}]`, 'gu');

/**
 * JSON that is safe on a terminal: the same value, with hidden characters of its texts as `\uXXXX`. One line, unless
 * `indent` is given.
 */
export function jsonText(value: unknown, indent?: number): string {
  return JSON.stringify(value, undefined, indent).replace(JSON_HIDDEN, escapeForJson);
}

function escapeCharacter(character: string): string {
  return `\\u{${(character.codePointAt(0) as number).toString(16)}}`;
}

function escapeForJson(character: string): string {
  return Array.from(
    { length: character.length },
    (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
  ).join('');
}
