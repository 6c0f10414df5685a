// Intl.NumberFormat and toLocaleString of numbers, BigInts and arrays.
//
// Rounding works on a number's shortest decimal digits (1.005 to two places is 1.01), never on binary fractions.
// A decimal is { negative, digits, point }: 0.DIGITS × 10^point; no digits means zero, and DIGITS begins and ends with
// a digit other than 0.

import { apply, Array, BigInt, Math, Number, Object, String, Symbol } from '../../primordials.js';
import { readNumberSettings, table, UNITS, type NumberSettings, type RoundingMode } from './number-options.js';
import { LOCALE, readOptions } from './options.js';

export interface NumberPart {
  readonly type: string;
  readonly value: string;
}

interface Decimal {
  readonly negative: boolean;
  readonly digits: string;
  readonly point: number;
  /** 'NaN', 'Infinity' or '-Infinity'. */
  readonly special?: string | undefined;
}

type LocalizedItem = { toLocaleString(locales: unknown, options: unknown): string } | null | undefined;

interface RoundedDecimal extends Decimal {
  /** Minimum number of fraction digits to show. */
  readonly minFraction: number;
}

/** Returns true to round away from zero. `half` compares the dropped digits with one half (-1, 0, 1). */
type Rounding = (half: number, negative: boolean, odd: boolean) => boolean;

const numberValueOf = Number.prototype.valueOf;
const bigintValueOf = BigInt.prototype.valueOf;

// --- tables ---

const SYMBOLS = table(
  'AUD A$ BRL R$ CAD CA$ CNY CN¥ EUR € GBP £ HKD HK$ ILS ₪ INR ₹ JPY ¥ KRW ₩ MXN MX$ NZD NZ$ PHP ₱ TWD NT$ USD $ ' +
    'VND ₫ XAF FCFA XCD EC$ XOF F\u202fCFA XPF CFPF',
);
const NARROW_SYMBOLS = table(
  'ARS $ AUD $ BDT ৳ CAD $ CLP $ CNY ¥ COP $ CRC ₡ CZK Kč DKK kr EGP E£ HKD $ HUF Ft IDR Rp ISK kr KZT ₸ MXN $ ' +
    'MYR RM NGN ₦ NOK kr NZD $ PKR Rs PLN zł RON lei RUB ₽ SEK kr SGD $ THB ฿ TRY ₺ TWD $ UAH ₴ ZAR R',
);
// The names in singular and plural. Other currencies are shown by their code.
const CURRENCY_NAMES = table(
  'AUD Australian_dollar BRL Brazilian_real,Brazilian_reals CAD Canadian_dollar CHF Swiss_franc ' +
    'CNY Chinese_yuan,Chinese_yuan EUR euro GBP British_pound INR Indian_rupee JPY Japanese_yen,Japanese_yen ' +
    'KRW South_Korean_won,South_Korean_won MXN Mexican_peso NOK Norwegian_krone,Norwegian_kroner ' +
    'NZD New_Zealand_dollar PLN Polish_zloty,Polish_zlotys SEK Swedish_krona,Swedish_kronor USD US_dollar',
);

const COMPACT_SHORT = ['', 'K', 'M', 'B', 'T'];
const COMPACT_LONG = ['', 'thousand', 'million', 'billion', 'trillion'];

const ROUNDS_UP: Readonly<Record<RoundingMode, Rounding>> = {
  ceil: (_half, negative) => !negative,
  floor: (_half, negative) => negative,
  expand: () => true,
  trunc: () => false,
  halfCeil: (half, negative) => half > 0 || (half === 0 && !negative),
  halfFloor: (half, negative) => half > 0 || (half === 0 && negative),
  halfExpand: (half) => half >= 0,
  halfTrunc: (half) => half > 0,
  halfEven: (half, _negative, odd) => half > 0 || (half === 0 && odd),
};

const NUMERAL = /^\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d{1,4})?\s*$/i;
const SHORT_NUMERAL = /^-?[0-9]+(?:\.[0-9]{1,3})?$/;
const EXPONENT = /e/i;

export class NumberFormat {
  readonly #settings: NumberSettings;
  #format: ((value: unknown) => string) | undefined;

  constructor(locales?: unknown, options?: unknown) {
    this.#settings = readNumberSettings(readOptions(locales, options));
  }

  get format(): (value: unknown) => string {
    const settings = this.#settings;
    this.#format ??= (value) => formattedText(settings, value);
    return this.#format;
  }

  formatToParts(value: unknown): NumberPart[] {
    return formattedParts(this.#settings, value);
  }

  resolvedOptions(): Record<string, unknown> {
    const { priority, ...settings } = this.#settings;
    return { locale: LOCALE, numberingSystem: 'latn', ...settings, roundingIncrement: 1, roundingPriority: priority };
  }
}

const standard = readNumberSettings({});

/** The methods of the language's own classes that are implemented with NumberFormat. */
export const numberMethods = {
  toLocaleString(this: unknown, locales?: unknown, options?: unknown): string {
    return formattedText(settingsFor(locales, options), apply(numberValueOf, this as number, []));
  },
};
export const bigintMethods = {
  toLocaleString(this: unknown, locales?: unknown, options?: unknown): string {
    return formattedText(settingsFor(locales, options), apply(bigintValueOf, this as bigint, []));
  },
};
export const listMethods = {
  toLocaleString(this: unknown, locales?: unknown, options?: unknown): string {
    return Array.from(this as Iterable<LocalizedItem>, (item) => item?.toLocaleString(locales, options) ?? '').join(
      ',',
    );
  },
};

function settingsFor(locales: unknown, options: unknown): NumberSettings {
  if (options === undefined && (locales === undefined || locales === LOCALE)) return standard;
  return readNumberSettings(readOptions(locales, options));
}

// --- formatting ---

function formattedText(settings: NumberSettings, value: unknown): string {
  if (settings === standard && typeof value === 'number') {
    const written = String(value);
    if (SHORT_NUMERAL.test(written) && !Object.is(value, -0)) return groupedDigits(written);
  }
  const parts = formattedParts(settings, value);
  let result = '';
  for (let at = 0; at < parts.length; at++) result += parts[at]!.value;
  return result;
}

// Groups the digits of a number that needs neither rounding nor padding.
function groupedDigits(written: string): string {
  const dot = written.indexOf('.');
  const start = written[0] === '-' ? 1 : 0;
  let result = dot < 0 ? '' : written.slice(dot);
  let end = dot < 0 ? written.length : dot;
  for (; end - start > 3; end -= 3) result = `,${written.slice(end - 3, end)}${result}`;
  return written.slice(0, end) + result;
}

function formattedParts(settings: NumberSettings, value: unknown): NumberPart[] {
  const given = toDecimal(value);
  const isShifted = settings.style === 'percent' && given.digits !== '';
  const decimal = isShifted ? { ...given, point: given.point + 2 } : given;
  const number = numberParts(settings, decimal);
  return around(settings, number, displayedSign(settings, decimal, number));
}

function toDecimal(value: unknown): Decimal {
  if (typeof value === 'object' && value !== null) return toDecimal(primitive(value));
  const isNumeral = typeof value === 'bigint' || (typeof value === 'string' && NUMERAL.test(value));
  const number = isNumeral ? 0 : Number(value);
  const written = isNumeral ? String(value).trim() : String(number);
  const negative = written[0] === '-' || (!isNumeral && number === 0 && 1 / number < 0);
  if (number - number !== 0) return { negative, special: written, digits: '1', point: 1 };
  return readDecimal(negative, written[0] === '-' || written[0] === '+' ? written.slice(1) : written);
}

/** Reads '12', '1.5', '.5' and '1e21'. */
function readDecimal(negative: boolean, written: string): Decimal {
  const e = written.search(EXPONENT);
  const mantissa = e < 0 ? written : written.slice(0, e);
  const dot = mantissa.indexOf('.');
  const all = dot < 0 ? mantissa : mantissa.slice(0, dot) + mantissa.slice(dot + 1);
  let zeros = 0;
  while (all[zeros] === '0') zeros++;
  const digits = trimZeros(all.slice(zeros));
  const places = (dot < 0 ? all.length : dot) - zeros + (e < 0 ? 0 : Number(written.slice(e + 1)));
  return { negative, digits, point: digits === '' ? 0 : places };
}

function primitive(value: object): unknown {
  const { [Symbol.toPrimitive]: convert } = value as { [Symbol.toPrimitive]?: ((hint: string) => unknown) | undefined };
  const converted: unknown = convert === undefined ? value.valueOf() : apply(convert, value, ['number']);
  return typeof converted === 'object' || typeof converted === 'function' ? Number(value) : converted;
}

function trimZeros(digits: string): string {
  let end = digits.length;
  while (end > 0 && digits[end - 1] === '0') end--;
  return digits.slice(0, end);
}

function numberParts(settings: NumberSettings, decimal: Decimal): NumberPart[] {
  if (decimal.special !== undefined) {
    return decimal.special === 'NaN' ? [{ type: 'nan', value: 'NaN' }] : [{ type: 'infinity', value: '∞' }];
  }
  if (settings.notation === 'standard') return digitParts(settings, roundedDecimal(settings, decimal));
  return scaledParts(settings, decimal);
}

// Rounding can carry into the next power (999.9 → 1K), so the power is computed again from the rounded number.
function scaledParts(settings: NumberSettings, decimal: Decimal): NumberPart[] {
  let power = displayedPower(settings, decimal);
  let number = roundedDecimal(settings, { ...decimal, point: decimal.point - power });
  const carried =
    number.digits === '' ? power : displayedPower(settings, { digits: number.digits, point: number.point + power });
  if (carried !== power) {
    power = carried;
    number = roundedDecimal(settings, { ...decimal, point: decimal.point - power });
  }
  const parts = digitParts(settings, number);
  if (settings.notation === 'compact') parts.push(...compactParts(settings, power / 3));
  else {
    parts.push({ type: 'exponentSeparator', value: 'E' });
    if (power < 0) parts.push({ type: 'exponentMinusSign', value: '-' });
    parts.push({ type: 'exponentInteger', value: String(Math.abs(power)) });
  }
  return parts;
}

function displayedPower({ notation }: NumberSettings, { digits, point }: Pick<Decimal, 'digits' | 'point'>): number {
  if (digits === '') return 0;
  if (notation === 'scientific') return point - 1;
  const thousands = Math.floor((point - 1) / 3);
  return 3 * (notation === 'compact' ? Math.min(4, Math.max(0, thousands)) : thousands);
}

function compactParts({ compactDisplay, style, currencyDisplay }: NumberSettings, step: number): NumberPart[] {
  if (step === 0) return [];
  const short = compactDisplay === 'short' || (style === 'currency' && currencyDisplay !== 'name');
  if (short) return [{ type: 'compact', value: COMPACT_SHORT[step]! }];
  return [
    { type: 'literal', value: ' ' },
    { type: 'compact', value: COMPACT_LONG[step]! },
  ];
}

function roundedDecimal(settings: NumberSettings, decimal: Decimal): RoundedDecimal {
  const { minimumSignificantDigits = 0, maximumSignificantDigits, priority } = settings;
  const { minimumFractionDigits = 0, maximumFractionDigits } = settings;
  const point = decimal.digits === '' ? 1 : decimal.point;
  let significant = maximumSignificantDigits !== undefined;
  if (maximumSignificantDigits !== undefined && maximumFractionDigits !== undefined) {
    const finer = maximumSignificantDigits - point >= maximumFractionDigits;
    significant = priority === 'morePrecision' ? finer : !finer;
  }
  const keep = significant ? maximumSignificantDigits! : decimal.point + maximumFractionDigits!;
  const result = round(decimal, keep, ROUNDS_UP[settings.roundingMode]);
  const resultPoint = result.digits === '' ? 1 : result.point;
  const minFraction = significant ? minimumSignificantDigits - resultPoint : minimumFractionDigits;
  const whole = settings.trailingZeroDisplay === 'stripIfInteger' && result.digits.length <= result.point;
  return { ...result, minFraction: whole || minFraction < 0 ? 0 : minFraction };
}

function round(decimal: Decimal, keep: number, roundsUp: Rounding): Decimal {
  const { negative, digits, point } = decimal;
  if (keep >= digits.length) return decimal;
  const digitsLeft = keep > 0 ? digits.slice(0, keep) : '';
  const dropped = keep < 0 ? '0' : digits.slice(keep);
  const half = dropped === '5' ? 0 : dropped < '5' ? -1 : 1;
  const odd = digitsLeft !== '' && Number(digitsLeft.at(-1)) % 2 === 1;
  if (!roundsUp(half, negative, odd))
    return { negative, digits: trimZeros(digitsLeft), point: trimZeros(digitsLeft) === '' ? 0 : point };
  let end = digitsLeft.length;
  while (end > 0 && digitsLeft[end - 1] === '9') end--;
  const head = digitsLeft.slice(0, end);
  if (head === '') return { negative, digits: '1', point: point + 1 - Math.min(keep, 0) };
  return { negative, digits: head.slice(0, -1) + String(Number(head.at(-1)) + 1), point };
}

function digitParts(settings: NumberSettings, { digits, point, minFraction }: RoundedDecimal): NumberPart[] {
  const integer = point > 0 ? digits.slice(0, point).padEnd(point, '0') : '0';
  const fraction = point < 0 ? '0'.repeat(-point) + digits : digits.slice(point);
  const parts = groupedParts(settings, integer.padStart(settings.minimumIntegerDigits, '0'));
  const shown = fraction.padEnd(minFraction, '0');
  if (shown !== '') parts.push({ type: 'decimal', value: '.' }, { type: 'fraction', value: shown });
  return parts;
}

function groupedParts({ useGrouping, notation }: NumberSettings, integer: string): NumberPart[] {
  const { length } = integer;
  const minLength = useGrouping === 'min2' || (useGrouping === 'auto' && notation === 'compact') ? 5 : 4;
  if (!useGrouping || length < minLength) return [{ type: 'integer', value: integer }];
  const parts: NumberPart[] = [];
  for (let end = ((length - 1) % 3) + 1; end <= length; end += 3) {
    if (parts.length > 0) parts.push({ type: 'group', value: ',' });
    parts.push({ type: 'integer', value: integer.slice(Math.max(0, end - 3), end) });
  }
  return parts;
}

function displayedSign(
  { signDisplay }: NumberSettings,
  { negative }: Decimal,
  number: readonly NumberPart[],
): '' | '-' | '+' {
  if (signDisplay === 'never') return '';
  const zero = number.every(({ type, value }) =>
    type === 'integer' || type === 'fraction' ? /^0*$/.test(value) : type !== 'infinity' && type !== 'nan',
  );
  if (signDisplay === 'exceptZero' && (zero || number[0]!.type === 'nan')) return '';
  if (negative) return signDisplay === 'negative' && zero ? '' : '-';
  return signDisplay === 'always' || signDisplay === 'exceptZero' ? '+' : '';
}

// --- signs, currencies and units ---

function around(settings: NumberSettings, number: readonly NumberPart[], sign: string): NumberPart[] {
  const signParts: NumberPart[] = sign === '' ? [] : [{ type: sign === '-' ? 'minusSign' : 'plusSign', value: sign }];
  if (settings.style === 'percent') {
    const type = settings.notation === 'compact' ? 'unit' : 'percentSign';
    return [...signParts, ...number, { type, value: '%' }];
  }
  if (settings.style === 'currency') return currencyParts(settings, number, sign, signParts);
  if (settings.style === 'unit') return [...signParts, ...number, ...unitParts(settings, number)];
  return [...signParts, ...number];
}

function currencyParts(
  { currency = '', currencyDisplay, currencySign }: NumberSettings,
  number: readonly NumberPart[],
  sign: string,
  signParts: readonly NumberPart[],
): NumberPart[] {
  if (currencyDisplay === 'name') {
    const [one, many = `${one}s`] = (CURRENCY_NAMES[currency] ?? `${currency},${currency}`).split(',');
    const name = isOne(number) ? one! : many;
    return [...signParts, ...number, { type: 'literal', value: ' ' }, { type: 'currency', value: name }];
  }
  const narrow = currencyDisplay === 'narrowSymbol' ? NARROW_SYMBOLS[currency] : undefined;
  const symbol = currencyDisplay === 'code' ? currency : (narrow ?? SYMBOLS[currency] ?? currency);
  const gap =
    number[0]!.type === 'integer' && /[^\p{S}\p{Z}]$/u.test(symbol) ? [{ type: 'literal', value: '\xa0' }] : [];
  const amount = [{ type: 'currency', value: symbol }, ...gap, ...number];
  if (sign === '-' && currencySign === 'accounting' && !number.some((part) => part.type === 'compact')) {
    return [{ type: 'literal', value: '(' }, ...amount, { type: 'literal', value: ')' }];
  }
  return [...signParts, ...amount];
}

function unitParts({ unit = '', unitDisplay }: NumberSettings, number: readonly NumberPart[]): NumberPart[] {
  const many = !isOne(number);
  const written = unitText(unit, unitDisplay, many);
  const close = /^[°%′″]/.test(written) || unitDisplay === 'narrow';
  return [...(close ? [] : [{ type: 'literal', value: ' ' }]), { type: 'unit', value: written }];
}

function unitText(unit: string, display: string | undefined, many: boolean): string {
  const known = UNITS[unit];
  const [numerator = '', denominator] = unit.split('-per-');
  if (denominator !== undefined && (known === undefined || display === 'long')) {
    const mark = display === 'long' ? ' per ' : '/';
    return (
      unitText(numerator, display, many) + mark + unitText(denominator, display === 'long' ? display : 'narrow', false)
    );
  }
  const [short = '', narrow, one, plural] = known!.split(',');
  if (display === 'narrow') return narrow || short;
  if (display === 'short') return many && /^(?:day|week|month|year)$/.test(unit) ? `${short}s` : short;
  return many ? plural || `${one || unit}s` : one || unit;
}

function isOne(number: readonly NumberPart[]): boolean {
  return /^[0,]*1(?:E0)?$/.test(number.map((part) => part.value).join(''));
}
