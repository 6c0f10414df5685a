// Intl.Collator and localeCompare.
//
// Text is compared in up to three levels: letters, then accents, then case (lower before upper). The characters of
// ORDER come first, then the letters from a to z; other letters follow by code point. Accents are the marks that NFD
// separates. The result is the order of the Unicode Collation Algorithm for ASCII and accented Latin, and an
// approximation for other text.

import { Boolean, Math, Number, String, TypeError, Uint8Array } from '../../primordials.js';
import { choice, LOCALE, readOptions, type Options } from './options.js';

interface Collation {
  readonly usage: string;
  readonly sensitivity: string;
  readonly ignorePunctuation: boolean;
  readonly numeric: boolean;
  readonly caseFirst: string;
}

/** One entry per letter at each level; `accents` joins the marks of a letter. */
interface SortKey {
  readonly letters: number[];
  readonly accents: string[];
  readonly cases: number[];
}

// In ORDER, punctuation comes first, then symbols (from ` on), then digits.
const ORDER = '\t\n\v\f\r\x85\u2028\u2029 \xa0_-,;:!¡?¿.·\'"«»()[]{}§¶@*/\\&#%`´^¯¨¸°©®+±÷×<=>¬|¦~¤¢$£¥0123456789';
const DIGIT = /[0-9]/;
const PUNCTUATION_END = ORDER.indexOf('`');
const DIGIT_START = ORDER.indexOf('0') + 1;
const LETTERS_START = ORDER.length + 1;
const weights = new Uint8Array(256);
for (let at = 0; at < ORDER.length; at++) weights[ORDER.charCodeAt(at)] = at + 1;
for (let at = 0; at < 26; at++) {
  weights[97 + at] = LETTERS_START + at;
  weights[65 + at] = LETTERS_START + at;
}
// Acute, grave, breve, circumflex, caron, ring, diaeresis, double acute, tilde, dot, ogonek, cedilla, macron. Other
// marks sort by code point.
const MARKS = '\u0301\u0300\u0306\u0302\u030c\u030a\u0308\u030b\u0303\u0307\u0328\u0327\u0304';
// Letters that sort like other letters and differ from them only at the second level.
const EXPANSIONS: Readonly<Record<string, string | undefined>> = {
  __proto__: null as never,
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  đ: 'd',
  ł: 'l',
  ð: 'd',
  ª: 'a',
  º: 'o',
};

export class Collator {
  readonly #settings: Collation;
  #compare: ((first: unknown, second: unknown) => number) | undefined;

  constructor(locales?: unknown, options?: unknown) {
    this.#settings = readCollation(readOptions(locales, options));
  }

  get compare(): (first: unknown, second: unknown) => number {
    const settings = this.#settings;
    this.#compare ??= (first, second) => compare(String(first), String(second), settings);
    return this.#compare;
  }

  resolvedOptions(): Record<string, unknown> {
    return { locale: LOCALE, ...this.#settings, collation: 'default' };
  }
}

const standardCollation = readCollation({});

export const textMethods = {
  localeCompare(this: unknown, that: unknown, locales?: unknown, options?: unknown): number {
    if (this === undefined || this === null) throw new TypeError('localeCompare is a method of strings');
    const plain = options === undefined && (locales === undefined || locales === LOCALE);
    return compare(
      String(this),
      String(that),
      plain ? standardCollation : readCollation(readOptions(locales, options)),
    );
  },
};

function readCollation(options: Options): Collation {
  return {
    usage: choice(options, 'usage', ['sort', 'search'], 'sort'),
    sensitivity: choice(options, 'sensitivity', ['base', 'accent', 'case', 'variant'], 'variant'),
    ignorePunctuation: Boolean(options.ignorePunctuation),
    numeric: Boolean(options.numeric),
    caseFirst: choice(options, 'caseFirst', ['upper', 'lower', 'false'], 'false'),
  };
}

function compare(first: string, second: string, settings: Collation): number {
  const quick = comparePlain(first, second, settings);
  if (quick !== undefined) return quick;
  const one = sortKey(first, settings);
  const other = sortKey(second, settings);
  const { sensitivity, caseFirst } = settings;
  let result = compareLists(one.letters, other.letters);
  if (result === 0 && (sensitivity === 'accent' || sensitivity === 'variant')) {
    result = compareLists(one.accents, other.accents);
  }
  if (result === 0 && (sensitivity === 'case' || sensitivity === 'variant')) {
    result = compareLists(one.cases, other.cases) * (caseFirst === 'upper' ? -1 : 1);
  }
  return result;
}

// Compares two texts without sort keys. Returns undefined if the options require sort keys, or if a text is not plain
// ASCII up to the first letter that differs.
function comparePlain(
  first: string,
  second: string,
  { numeric, sensitivity, ignorePunctuation, caseFirst }: Collation,
): number | undefined {
  if (first === second) return 0;
  if (ignorePunctuation || (numeric && (DIGIT.test(first) || DIGIT.test(second)))) return undefined;
  const length = Math.min(first.length, second.length);
  let cases = 0;
  for (let at = 0; at < length; at++) {
    const one = first[at]!;
    const other = second[at]!;
    if (one === other && one < '\x7f' && one >= ' ') continue;
    const weight = plainWeight(one);
    const otherWeight = plainWeight(other);
    if (weight === 0 || otherWeight === 0) return undefined;
    if (weight !== otherWeight) return weight < otherWeight ? -1 : 1;
    if (cases === 0) cases = one > other ? -1 : 1;
  }
  if (first.length > length) return plainWeight(first[length]!) === 0 ? undefined : 1;
  if (second.length > length) return plainWeight(second[length]!) === 0 ? undefined : -1;
  if (sensitivity === 'base' || sensitivity === 'accent') return 0;
  return caseFirst === 'upper' ? 0 - cases : cases;
}

function plainWeight(character: string): number {
  return character < '\x80' ? weights[character.charCodeAt(0)]! : 0;
}

function compareLists<Level extends number | string>(first: readonly Level[], second: readonly Level[]): number {
  const length = Math.min(first.length, second.length);
  for (let at = 0; at < length; at++) {
    if (first[at] !== second[at]) return first[at]! < second[at]! ? -1 : 1;
  }
  return Math.sign(first.length - second.length);
}

function sortKey(text: string, settings: Collation): SortKey {
  const key: SortKey = { letters: [], accents: [], cases: [] };
  const plain = /[^\0-\x7f]/.test(text) ? text.normalize('NFD') : text;
  for (let at = 0; at < plain.length; at++) {
    const code = plain.charCodeAt(at);
    if (code >= 48 && code <= 57 && settings.numeric) at = addNumber(key, plain, at);
    else if (code < 128) addAscii(key, code, settings);
    else at = addOther(key, plain, at, settings);
  }
  return key;
}

function addAscii(key: SortKey, code: number, settings: Collation): void {
  const weight = weights[code]!;
  if (weight === 0 || (settings.ignorePunctuation && weight <= PUNCTUATION_END)) return;
  add(key, weight, '', code >= 65 && code <= 90 ? 1 : 0);
}

// Adds a number to the key: its count of digits, then its digits, without leading zeros.
function addNumber(key: SortKey, text: string, from: number): number {
  let start = from;
  let end = start;
  while (end < text.length && text.charCodeAt(end) >= 48 && text.charCodeAt(end) <= 57) end++;
  while (start < end - 1 && text[start] === '0') start++;
  add(key, DIGIT_START + (end - start) / (end - start + 1), '', 0);
  for (; start < end; start++) add(key, DIGIT_START + Number(text[start]), '', 0);
  return end - 1;
}

function addOther(key: SortKey, text: string, at: number, settings: Collation): number {
  const character = String.fromCodePoint(text.codePointAt(at)!);
  const last = at + character.length - 1;
  if (/\p{M}/u.test(character)) {
    const place = MARKS.indexOf(character);
    if (key.accents.length > 0)
      key.accents[key.accents.length - 1] += place < 0 ? character : String.fromCharCode(place + 1);
    return last;
  }
  const lower = character.toLowerCase();
  const isUpper = lower === character ? 0 : 1;
  const expansion = EXPANSIONS[lower];
  if (expansion !== undefined) {
    for (const letter of expansion) add(key, weights[letter.charCodeAt(0)]!, lower, isUpper);
  } else {
    const weight = otherWeight(lower);
    if (weight > 0 && !(settings.ignorePunctuation && weight < PUNCTUATION_END + 1)) add(key, weight, '', isUpper);
  }
  return last;
}

// The weight of a character outside ASCII that has no expansion; 0 for characters that the comparison ignores: controls
// and the soft hyphen.
function otherWeight(character: string): number {
  const code = character.codePointAt(0)!;
  if (code < 256 && weights[code]! > 0) return weights[code]!;
  if (code < 160 || code === 0xad) return 0;
  if (/[\p{P}\p{Z}]/u.test(character)) return PUNCTUATION_END + code / 0x110000;
  return /\p{S}/u.test(character) ? DIGIT_START - 1 + code / 0x110000 : code;
}

function add(key: SortKey, letter: number, accent: string, caseOf: number): void {
  key.letters.push(letter);
  key.accents.push(accent);
  key.cases.push(caseOf);
}
