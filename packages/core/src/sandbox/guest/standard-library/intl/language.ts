// Intl.PluralRules, ListFormat and RelativeTimeFormat.
import { Array, Math, Number, Object, RangeError, String, TypeError } from '../../primordials.js';
import { NumberFormat } from './numbers.js';
import { choice, LOCALE, readOptions } from './options.js';

type Width = 'long' | 'short' | 'narrow';
type ListType = 'conjunction' | 'disjunction' | 'unit';

interface Part {
  readonly type: string;
  readonly value: string;
}

export class PluralRules {
  readonly #type: string;
  readonly #number: NumberFormat;

  constructor(locales?: unknown, options?: unknown) {
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

  select(value: unknown): string {
    const written = this.#number.format(Number(value)).replace('-', '');
    return this.#type === 'cardinal' ? (/^0*1$/.test(written) ? 'one' : 'other') : ordinal(written);
  }

  resolvedOptions(): Record<string, unknown> {
    const digits = this.#number.resolvedOptions();
    for (const name of ['style', 'notation', 'numberingSystem', 'useGrouping', 'signDisplay']) delete digits[name];
    const pluralCategories = this.#type === 'cardinal' ? ['one', 'other'] : ['few', 'one', 'two', 'other'];
    return { ...digits, type: this.#type, pluralCategories };
  }
}

export class ListFormat {
  readonly #type: ListType;
  readonly #style: Width;

  constructor(locales?: unknown, options?: unknown) {
    const given = readOptions(locales, options);
    this.#type = choice<ListType, ListType>(given, 'type', ['conjunction', 'disjunction', 'unit'], 'conjunction');
    this.#style = choice<Width, Width>(given, 'style', ['long', 'short', 'narrow'], 'long');
  }

  format(list: unknown): string {
    return partsText(this.formatToParts(list));
  }

  formatToParts(list: unknown): Part[] {
    const items = Array.from((list ?? []) as Iterable<unknown>, requireText);
    const [between, before] = listMarks(this.#type, this.#style, items.length);
    const parts: Part[] = [];
    items.forEach((value, at) => {
      if (at > 0) parts.push({ type: 'literal', value: at === items.length - 1 ? before : between });
      parts.push({ type: 'element', value });
    });
    return parts;
  }

  resolvedOptions(): Record<string, unknown> {
    return { locale: LOCALE, type: this.#type, style: this.#style };
  }
}

export class RelativeTimeFormat {
  readonly #style: Width;
  readonly #numeric: string;

  constructor(locales?: unknown, options?: unknown) {
    const given = readOptions(locales, options);
    this.#style = choice<Width, Width>(given, 'style', ['long', 'short', 'narrow'], 'long');
    this.#numeric = choice(given, 'numeric', ['always', 'auto'], 'always');
  }

  format(value: unknown, unit: unknown): string {
    return partsText(this.formatToParts(value, unit));
  }

  formatToParts(value: unknown, unit: unknown): Part[] {
    return relativeParts(Number(value), String(unit), this.#style, this.#numeric);
  }

  resolvedOptions(): Record<string, unknown> {
    return { locale: LOCALE, style: this.#style, numeric: this.#numeric, numberingSystem: 'latn' };
  }
}

function partsText(parts: readonly Part[]): string {
  return parts.map((part) => part.value).join('');
}

function ordinal(written: string): string {
  if (!/^\d+$/.test(written) || /1[123]$/.test(written)) return 'other';
  return ['other', 'one', 'two', 'few'][Number(written.at(-1))] ?? 'other';
}

function requireText(item: unknown): string {
  if (typeof item === 'string') return item;
  throw new TypeError('Intl.ListFormat takes a list of strings');
}

/** The text between two items, and the text before the last item. */
function listMarks(type: ListType, style: Width, count: number): [string, string] {
  if (type === 'unit') return style === 'narrow' ? [' ', ' '] : [', ', ', '];
  if (type === 'conjunction' && style === 'narrow') return [', ', ', '];
  const word = type === 'disjunction' ? 'or' : style === 'long' ? 'and' : '&';
  return [', ', count > 2 ? `, ${word} ` : ` ${word} `];
}

const UNITS: Readonly<Record<string, readonly [short: string, narrow: string]>> = {
  __proto__: null as never,
  second: ['sec.', 's'],
  minute: ['min.', 'm'],
  hour: ['hr.', 'h'],
  day: ['day', 'd'],
  week: ['wk.', 'w'],
  month: ['mo.', 'mo'],
  quarter: ['qtr.', 'q'],
  year: ['yr.', 'y'],
};

function relativeParts(value: number, given: string, style: Width, numeric: string): Part[] {
  const unit = given.replace(/s$/, '');
  if (UNITS[unit] === undefined || given.length > unit.length + 1) {
    throw new RangeError(`"${given}" is not a unit of time: use ${Object.keys(UNITS).join(', ')}`);
  }
  if (!Number.isFinite(value)) throw new RangeError('Intl.RelativeTimeFormat takes a finite number');
  const word = numeric === 'auto' ? relativeWord(value, unit, style) : undefined;
  if (word !== undefined) return [{ type: 'literal', value: word }];
  const past = value < 0 || 1 / value < 0;
  const number = new NumberFormat().formatToParts(Math.abs(value)).map((part) => ({ ...part, unit }));
  const name = relativeUnit(unit, style, number.length === 1 && number[0]!.value === '1');
  if (past) return [...number, { type: 'literal', value: `${name} ago` }];
  return [{ type: 'literal', value: 'in ' }, ...number, { type: 'literal', value: name }];
}

function relativeWord(value: number, unit: string, style: Width): string | undefined {
  if (unit === 'second') return value === 0 ? 'now' : undefined;
  if (unit === 'day') return { '-1': 'yesterday', 0: 'today', 1: 'tomorrow' }[String(value)];
  const name = style === 'long' || unit === 'minute' || unit === 'hour' ? unit : UNITS[unit]![0];
  if (value === 0) return `this ${name}`;
  if (unit === 'minute' || unit === 'hour') return undefined;
  return { '-1': `last ${name}`, 1: `next ${name}` }[String(value)];
}

function relativeUnit(unit: string, style: Width, one: boolean): string {
  if (style === 'narrow') return UNITS[unit]![1];
  if (style === 'long') return ` ${unit}${one ? '' : 's'}`;
  if (unit === 'quarter') return one ? ' qtr.' : ' qtrs.';
  return ` ${UNITS[unit]![0]}${unit === 'day' && !one ? 's' : ''}`;
}
