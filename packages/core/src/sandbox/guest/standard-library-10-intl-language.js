// The guest's standard library: Intl.Collator, PluralRules, ListFormat, RelativeTimeFormat and localeCompare.
//
// Text is compared in up to three levels: letters, then accents, then case (lower before upper). A letter's weight is
// its place in ORDER, or lies behind it by code point; accents are the marks that NFD splits off. That is the order
// of the Unicode Collation Algorithm for ASCII and accented Latin, and an approximation beyond.
(function () {
  'use strict';

  const { Array, Intl, Math, Number, Object, RangeError, String, TypeError, Uint8Array } = globalThis;
  const { LOCALE, define, publish, readOptions, choice } = globalThis.intlGround;
  const NumberFormat = Intl.NumberFormat;

  // Punctuation is what comes before the first of `+; letters are looked up in lower case.
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
  // Acute, grave, breve, circumflex, caron, ring, diaeresis, double acute, tilde, dot, …: other marks by code point.
  const MARKS = '\u0301\u0300\u0306\u0302\u030c\u030a\u0308\u030b\u0303\u0307\u0328\u0327\u0304';
  // Letters that sort as others do, and differ from them at the second level only.
  const EXPANSIONS = { __proto__: null, ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', đ: 'd', ł: 'l', ð: 'd', ª: 'a', º: 'o' };

  class Collator {
    #settings;
    #compare;

    constructor(locales, options) {
      this.#settings = readCollation(readOptions(locales, options));
    }

    get compare() {
      const settings = this.#settings;
      this.#compare ??= (first, second) => compare(String(first), String(second), settings);
      return this.#compare;
    }

    resolvedOptions() {
      return { locale: LOCALE, ...this.#settings, collation: 'default' };
    }
  }

  class PluralRules {
    #type;
    #number;

    constructor(locales, options) {
      const given = readOptions(locales, options);
      this.#type = choice(given, 'type', ['cardinal', 'ordinal'], 'cardinal');
      const { minimumIntegerDigits, minimumFractionDigits, maximumFractionDigits } = given;
      const { minimumSignificantDigits, maximumSignificantDigits } = given;
      const digits = { minimumSignificantDigits, maximumSignificantDigits, minimumIntegerDigits };
      this.#number = new NumberFormat(LOCALE, {
        ...digits,
        minimumFractionDigits,
        maximumFractionDigits,
        useGrouping: false,
      });
    }

    select(value) {
      const written = this.#number.format(Number(value)).replace('-', '');
      return this.#type === 'cardinal' ? (/^0*1$/.test(written) ? 'one' : 'other') : ordinal(written);
    }

    resolvedOptions() {
      const digits = this.#number.resolvedOptions();
      for (const name of ['style', 'notation', 'numberingSystem', 'useGrouping', 'signDisplay']) delete digits[name];
      const pluralCategories = this.#type === 'cardinal' ? ['one', 'other'] : ['few', 'one', 'two', 'other'];
      return { ...digits, type: this.#type, pluralCategories };
    }
  }

  class ListFormat {
    #type;
    #style;

    constructor(locales, options) {
      const given = readOptions(locales, options);
      this.#type = choice(given, 'type', ['conjunction', 'disjunction', 'unit'], 'conjunction');
      this.#style = choice(given, 'style', ['long', 'short', 'narrow'], 'long');
    }

    format(list) {
      return textOf(this.formatToParts(list));
    }

    formatToParts(list) {
      const items = Array.from(list ?? [], requireText);
      const [between, before] = listMarks(this.#type, this.#style, items.length);
      const parts = [];
      items.forEach((value, at) => {
        if (at > 0) parts.push({ type: 'literal', value: at === items.length - 1 ? before : between });
        parts.push({ type: 'element', value });
      });
      return parts;
    }

    resolvedOptions() {
      return { locale: LOCALE, type: this.#type, style: this.#style };
    }
  }

  class RelativeTimeFormat {
    #style;
    #numeric;

    constructor(locales, options) {
      const given = readOptions(locales, options);
      this.#style = choice(given, 'style', ['long', 'short', 'narrow'], 'long');
      this.#numeric = choice(given, 'numeric', ['always', 'auto'], 'always');
    }

    format(value, unit) {
      return textOf(this.formatToParts(value, unit));
    }

    formatToParts(value, unit) {
      return relativeParts(Number(value), String(unit), this.#style, this.#numeric);
    }

    resolvedOptions() {
      return { locale: LOCALE, style: this.#style, numeric: this.#numeric, numberingSystem: 'latn' };
    }
  }

  publish(Collator, 'Collator', true);
  publish(PluralRules, 'PluralRules', false);
  publish(ListFormat, 'ListFormat', false);
  publish(RelativeTimeFormat, 'RelativeTimeFormat', false);
  delete globalThis.intlGround;

  const standardCollation = readCollation({});
  define(
    String.prototype,
    'localeCompare',
    {
      localeCompare(that, locales, options) {
        if (this === undefined || this === null) throw new TypeError('localeCompare is a method of text');
        const plain = options === undefined && (locales === undefined || locales === LOCALE);
        return compare(
          String(this),
          String(that),
          plain ? standardCollation : readCollation(readOptions(locales, options)),
        );
      },
    }.localeCompare,
  );

  function textOf(parts) {
    return parts.map((part) => part.value).join('');
  }

  // --- comparing ---

  function readCollation(options) {
    return {
      usage: choice(options, 'usage', ['sort', 'search'], 'sort'),
      sensitivity: choice(options, 'sensitivity', ['base', 'accent', 'case', 'variant'], 'variant'),
      ignorePunctuation: Boolean(options.ignorePunctuation),
      numeric: Boolean(options.numeric),
      caseFirst: choice(options, 'caseFirst', ['upper', 'lower', 'false'], 'false'),
    };
  }

  function compare(first, second, settings) {
    const quick = comparePlain(first, second, settings);
    if (quick !== undefined) return quick;
    const one = keyOf(first, settings);
    const other = keyOf(second, settings);
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

  // The common case without keys: undefined where text is not plain ASCII up to the first letter that differs.
  function comparePlain(first, second, { numeric, sensitivity, ignorePunctuation, caseFirst }) {
    if (first === second) return 0;
    if (ignorePunctuation || (numeric && (DIGIT.test(first) || DIGIT.test(second)))) return undefined;
    const length = Math.min(first.length, second.length);
    let cases = 0;
    for (let at = 0; at < length; at++) {
      const one = first[at];
      const other = second[at];
      if (one === other && one < '\x7f' && one >= ' ') continue;
      const weight = plainWeight(one);
      const otherWeight = plainWeight(other);
      if (weight === 0 || otherWeight === 0) return undefined;
      if (weight !== otherWeight) return weight < otherWeight ? -1 : 1;
      if (cases === 0) cases = one > other ? -1 : 1;
    }
    if (first.length > length) return plainWeight(first[length]) === 0 ? undefined : 1;
    if (second.length > length) return plainWeight(second[length]) === 0 ? undefined : -1;
    if (sensitivity === 'base' || sensitivity === 'accent') return 0;
    return caseFirst === 'upper' ? 0 - cases : cases;
  }

  function plainWeight(character) {
    return character < '\x80' ? weights[character.charCodeAt()] : 0;
  }

  function compareLists(first, second) {
    const length = Math.min(first.length, second.length);
    for (let at = 0; at < length; at++) {
      if (first[at] !== second[at]) return first[at] < second[at] ? -1 : 1;
    }
    return Math.sign(first.length - second.length);
  }

  // One entry a letter at each level; `accents` joins the marks of a letter.
  function keyOf(text, settings) {
    const key = { letters: [], accents: [], cases: [] };
    const plain = /[^\0-\x7f]/.test(text) ? text.normalize('NFD') : text;
    for (let at = 0; at < plain.length; at++) {
      const code = plain.charCodeAt(at);
      if (code >= 48 && code <= 57 && settings.numeric) at = addNumber(key, plain, at);
      else if (code < 128) addAscii(key, code, settings);
      else at = addOther(key, plain, at, settings);
    }
    return key;
  }

  function addAscii(key, code, settings) {
    const weight = weights[code];
    if (weight === 0 || (settings.ignorePunctuation && weight <= PUNCTUATION_END)) return;
    add(key, weight, '', code >= 65 && code <= 90 ? 1 : 0);
  }

  // A number is its count of digits, then its digits; leading zeros count for nothing.
  function addNumber(key, text, start) {
    let end = start;
    while (end < text.length && text.charCodeAt(end) >= 48 && text.charCodeAt(end) <= 57) end++;
    while (start < end - 1 && text[start] === '0') start++;
    add(key, DIGIT_START + (end - start) / (end - start + 1), '', 0);
    for (; start < end; start++) add(key, DIGIT_START + Number(text[start]), '', 0);
    return end - 1;
  }

  function addOther(key, text, at, settings) {
    const character = String.fromCodePoint(text.codePointAt(at));
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
      for (const letter of expansion) add(key, weights[letter.charCodeAt()], lower, isUpper);
    } else {
      const weight = otherWeight(lower);
      if (weight > 0 && !(settings.ignorePunctuation && weight < PUNCTUATION_END + 1)) add(key, weight, '', isUpper);
    }
    return last;
  }

  // 0 for what has no place in the order: controls and the soft hyphen.
  function otherWeight(character) {
    const code = character.codePointAt();
    if (code < 256 && weights[code] > 0) return weights[code];
    if (code < 160 || code === 0xad) return 0;
    if (/[\p{P}\p{Z}]/u.test(character)) return PUNCTUATION_END + code / 0x110000;
    return /\p{S}/u.test(character) ? DIGIT_START - 1 + code / 0x110000 : code;
  }

  function add(key, letter, accent, caseOf) {
    key.letters.push(letter);
    key.accents.push(accent);
    key.cases.push(caseOf);
  }

  // --- words ---

  function ordinal(written) {
    if (!/^\d+$/.test(written) || /1[123]$/.test(written)) return 'other';
    return ['other', 'one', 'two', 'few'][Number(written.at(-1))] ?? 'other';
  }

  function requireText(item) {
    if (typeof item === 'string') return item;
    throw new TypeError('Intl.ListFormat takes a list of text');
  }

  // What stands between two items, and what before the last one.
  function listMarks(type, style, count) {
    if (type === 'unit') return style === 'narrow' ? [' ', ' '] : [', ', ', '];
    if (type === 'conjunction' && style === 'narrow') return [', ', ', '];
    const word = type === 'disjunction' ? 'or' : style === 'long' ? 'and' : '&';
    return [', ', count > 2 ? `, ${word} ` : ` ${word} `];
  }

  const UNITS = {
    __proto__: null,
    second: ['sec.', 's'],
    minute: ['min.', 'm'],
    hour: ['hr.', 'h'],
    day: ['day', 'd'],
    week: ['wk.', 'w'],
    month: ['mo.', 'mo'],
    quarter: ['qtr.', 'q'],
    year: ['yr.', 'y'],
  };

  function relativeParts(value, given, style, numeric) {
    const unit = given.replace(/s$/, '');
    if (UNITS[unit] === undefined || given.length > unit.length + 1) {
      throw new RangeError(`"${given}" is no unit of time: use ${Object.keys(UNITS).join(', ')}`);
    }
    if (!Number.isFinite(value)) throw new RangeError('Intl.RelativeTimeFormat takes a finite number');
    const word = numeric === 'auto' ? relativeWord(value, unit, style) : undefined;
    if (word !== undefined) return [{ type: 'literal', value: word }];
    const past = value < 0 || 1 / value < 0;
    const number = new NumberFormat().formatToParts(Math.abs(value)).map((part) => ({ ...part, unit }));
    const name = relativeUnit(unit, style, number.length === 1 && number[0].value === '1');
    if (past) return [...number, { type: 'literal', value: `${name} ago` }];
    return [{ type: 'literal', value: 'in ' }, ...number, { type: 'literal', value: name }];
  }

  function relativeWord(value, unit, style) {
    if (unit === 'second') return value === 0 ? 'now' : undefined;
    if (unit === 'day') return { '-1': 'yesterday', 0: 'today', 1: 'tomorrow' }[value];
    const name = style === 'long' || unit === 'minute' || unit === 'hour' ? unit : UNITS[unit][0];
    if (value === 0) return `this ${name}`;
    if (unit === 'minute' || unit === 'hour') return undefined;
    return { '-1': `last ${name}`, 1: `next ${name}` }[value];
  }

  function relativeUnit(unit, style, one) {
    if (style === 'narrow') return UNITS[unit][1];
    if (style === 'long') return ` ${unit}${one ? '' : 's'}`;
    if (unit === 'quarter') return one ? ' qtr.' : ' qtrs.';
    return ` ${UNITS[unit][0]}${unit === 'day' && !one ? 's' : ''}`;
  }
})();
