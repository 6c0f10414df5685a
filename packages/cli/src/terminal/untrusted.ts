import { INVISIBLE_CHARACTERS } from '@toolscript/core/internal';

/**
 * Text of a script, a model, a tool or a file may contain characters that control a terminal, or that disguise the
 * text. This module shows such characters as `\u{…}`. Visible characters stay unchanged.
 */

/** CRLF, and the emoji, keycaps and letters that need hidden characters to look right. They stay unchanged. */
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

/** Escapes the hidden characters of a text, so that it is safe to print. Keeps line endings. */
export function visible(text: string): string {
  if (PLAIN.test(text)) return text;
  return text.replace(
    SEQUENCE_OR_HIDDEN,
    (found: string, sequence: string | undefined) => sequence ?? escapeCharacter(found),
  );
}

/** Makes prose safe to print on one line. Replaces line endings and tabs with spaces. */
export function visibleTitle(text: string): string {
  return visible(onOneLine(text));
}

/** Makes a name safe to print on one line. Escapes even the hidden characters of emoji: no two names may look alike. */
export function visibleLine(text: string): string {
  // defence: lines-show-invisible
  return onOneLine(text).replace(ANY_HIDDEN, escapeCharacter);
}

/** Makes a word safe to print on one line. Also escapes line endings and tabs, so that no character is replaced. */
export function visibleWord(text: string): string {
  return visibleLine(text.replace(/[\r\n\t]/gu, escapeCharacter));
}

function onOneLine(text: string): string {
  return text.replace(/\s+/gu, (run) => (run.includes('\n') ? ' ' : run.replaceAll('\t', ' ')));
}

/** Applies `visible` to text that arrives in chunks. Buffers characters whose escaping depends on the next chunk. */
export class VisibleStream {
  #heldText = '';

  push(piece: string): string {
    const text = this.#heldText + piece;
    const held = /[0-9#*\r]?[^\x00-\x7f]{0,12}$/u.exec(text)?.[0] ?? '';
    this.#heldText = held;
    return visible(text.slice(0, text.length - held.length));
  }

  end(): string {
    const rest = visible(this.#heldText);
    this.#heldText = '';
    return rest;
  }
}

const JSON_HIDDEN = new RegExp(String.raw`(?![\n])[${INVISIBLE_CHARACTERS}]`, 'gu');

/**
 * The JSON of a value, safe to print: hidden characters in strings are escaped as `\uXXXX`, which does not change the
 * value. The JSON is on one line, unless `indent` is given.
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
