// The options of Intl.NumberFormat.
import { Math, RangeError, String, TypeError } from '../../primordials.js';
import { choice, whole, type Options } from './options.js';

type RoundingPriority = 'auto' | 'morePrecision' | 'lessPrecision';

interface DigitSettings {
  readonly minimumIntegerDigits: number;
  readonly minimumSignificantDigits?: number | undefined;
  readonly maximumSignificantDigits?: number | undefined;
  readonly minimumFractionDigits?: number | undefined;
  readonly maximumFractionDigits?: number | undefined;
  readonly priority: RoundingPriority;
}

interface CurrencySettings {
  readonly currency?: string | undefined;
  readonly currencyDisplay?: string | undefined;
  readonly currencySign?: string | undefined;
  readonly currencyDigits?: number | undefined;
}

interface UnitSettings {
  readonly unit?: string | undefined;
  readonly unitDisplay?: string | undefined;
}

export type RoundingMode =
  | 'ceil'
  | 'floor'
  | 'expand'
  | 'trunc'
  | 'halfCeil'
  | 'halfFloor'
  | 'halfExpand'
  | 'halfTrunc'
  | 'halfEven';

export interface NumberSettings extends DigitSettings, Omit<CurrencySettings, 'currencyDigits'>, UnitSettings {
  readonly style: 'decimal' | 'percent' | 'currency' | 'unit';
  readonly notation: 'standard' | 'scientific' | 'engineering' | 'compact';
  readonly compactDisplay?: string | undefined;
  readonly useGrouping: string | false;
  readonly signDisplay: string;
  readonly roundingMode: RoundingMode;
  readonly trailingZeroDisplay: string;
}

const CURRENCIES_OF_0_DIGITS =
  'AFN ALL BIF CLP COP DJF GNF HUF IDR IQD IRR ISK JPY KMF KPW KRW LAK LBP MGA MMK PKR PYG RWF SLL SOS SYP UGX UYI ' +
  'VND VUV XAF XOF XPF YER';
const CURRENCIES_OF_3_DIGITS = 'BHD JOD KWD LYD OMR TND';

// The forms of each unit: short, narrow if it differs, long in singular and plural if these are irregular.
export const UNITS = table(
  'acre ac bit bit byte byte,B celsius °C,,degree_Celsius,degrees_Celsius centimeter cm day day,d degree deg,° ' +
    'fahrenheit °F,°,degree_Fahrenheit,degrees_Fahrenheit fluid-ounce fl_oz,,fluid_ounce foot ft,′,foot,feet ' +
    'gallon gal gigabit Gb gigabyte GB gram g hectare ha hour hr,h inch in,″,inch,inches kilobit kb kilobyte kB ' +
    'kilogram kg kilometer km liter L megabit Mb megabyte MB meter m microsecond μs mile mi ' +
    'mile-scandinavian smi,,mile-scandinavian,miles-scandinavian milliliter mL millimeter mm millisecond ms ' +
    'minute min,m month mth,m nanosecond ns ounce oz percent %,%,percent,percent petabyte PB pound lb,# second sec,s ' +
    'stone st,,stone,stones terabit Tb terabyte TB week wk,w yard yd year yr,y kilometer-per-hour km/h ' +
    'mile-per-hour mph meter-per-second m/s liter-per-kilometer L/km mile-per-gallon mpg',
);

const ROUNDING_MODES = 'ceil floor expand trunc halfCeil halfFloor halfExpand halfTrunc halfEven'.split(
  ' ',
) as RoundingMode[];

export function readNumberSettings(options: Options): NumberSettings {
  const style = choice(options, 'style', ['decimal', 'percent', 'currency', 'unit'], 'decimal');
  const notation = choice(options, 'notation', ['standard', 'scientific', 'engineering', 'compact'], 'standard');
  const { currencyDigits, ...currency } = readCurrency(options, style);
  const unit = readUnit(options, style);
  const compact = notation === 'compact';
  const digits = readDigits(options, style, currencyDigits, notation);
  return {
    style,
    ...currency,
    ...unit,
    ...digits,
    useGrouping: readGrouping(options, compact),
    notation,
    ...(compact ? { compactDisplay: choice(options, 'compactDisplay', ['short', 'long'], 'short') } : {}),
    signDisplay: choice(options, 'signDisplay', ['auto', 'never', 'always', 'exceptZero', 'negative'], 'auto'),
    roundingMode: choice(options, 'roundingMode', ROUNDING_MODES, 'halfExpand'),
    trailingZeroDisplay: choice(options, 'trailingZeroDisplay', ['auto', 'stripIfInteger'], 'auto'),
  };
}

function readCurrency(options: Options, style: string): CurrencySettings {
  const display = choice(options, 'currencyDisplay', ['symbol', 'narrowSymbol', 'code', 'name'], 'symbol');
  const sign = choice(options, 'currencySign', ['standard', 'accounting'], 'standard');
  if (options.currency === undefined) {
    if (style === 'currency') throw new TypeError('The style currency needs the option currency, such as "USD"');
    return {};
  }
  const currency = String(options.currency).toUpperCase();
  if (!/^[A-Z]{3}$/.test(currency)) throw new RangeError(`"${options.currency}" is not a currency code such as "USD"`);
  if (style !== 'currency') return {};
  const currencyDigits = CURRENCIES_OF_0_DIGITS.includes(currency)
    ? 0
    : CURRENCIES_OF_3_DIGITS.includes(currency)
      ? 3
      : 2;
  return { currency, currencyDisplay: display, currencySign: sign, currencyDigits };
}

function readUnit(options: Options, style: string): UnitSettings {
  const unitDisplay = choice(options, 'unitDisplay', ['short', 'narrow', 'long'], 'short');
  if (options.unit === undefined) {
    if (style === 'unit') throw new TypeError('The style unit needs the option unit, such as "kilometer"');
    return {};
  }
  const unit = String(options.unit);
  const known = UNITS[unit] ?? unit.split('-per-').every((side) => UNITS[side] !== undefined);
  if (known === false || unit.split('-per-').length > 2)
    throw new RangeError(`"${unit}" is not a unit such as "kilometer"`);
  return style === 'unit' ? { unit, unitDisplay } : {};
}

function readDigits(
  options: Options,
  style: string,
  currencyDigits: number | undefined,
  notation: string,
): DigitSettings {
  const minimumIntegerDigits = whole(options, 'minimumIntegerDigits', 1, 21, 1);
  const priority = choice(options, 'roundingPriority', ['auto', 'morePrecision', 'lessPrecision'], 'auto');
  const fixedDigits = style === 'currency' && notation === 'standard' ? currencyDigits : undefined;
  const minDefault = fixedDigits ?? 0;
  const maxDefault = fixedDigits ?? (style === 'percent' ? 0 : 3);
  const bySignificance =
    options.minimumSignificantDigits !== undefined || options.maximumSignificantDigits !== undefined;
  const byFraction = options.minimumFractionDigits !== undefined || options.maximumFractionDigits !== undefined;
  const significant = bySignificance ? readSignificant(options) : {};
  if (priority !== 'auto') {
    const defaults = { minimumSignificantDigits: 1, maximumSignificantDigits: 21 };
    return {
      minimumIntegerDigits,
      ...defaults,
      ...significant,
      ...readFraction(options, minDefault, maxDefault),
      priority,
    };
  }
  if (bySignificance) return { minimumIntegerDigits, ...significant, priority };
  if (byFraction || notation !== 'compact') {
    return { minimumIntegerDigits, ...readFraction(options, minDefault, maxDefault), priority };
  }
  return {
    minimumIntegerDigits,
    minimumSignificantDigits: 1,
    maximumSignificantDigits: 2,
    minimumFractionDigits: 0,
    maximumFractionDigits: 0,
    priority: 'morePrecision',
  };
}

function readSignificant(options: Options) {
  const minimumSignificantDigits = whole(options, 'minimumSignificantDigits', 1, 21, 1);
  const maximumSignificantDigits = whole(options, 'maximumSignificantDigits', minimumSignificantDigits, 21, 21);
  return { minimumSignificantDigits, maximumSignificantDigits };
}

function readFraction(options: Options, minDefault: number, maxDefault: number) {
  let minimumFractionDigits = whole(options, 'minimumFractionDigits', 0, 100, undefined);
  let maximumFractionDigits = whole(options, 'maximumFractionDigits', 0, 100, undefined);
  minimumFractionDigits ??= Math.min(minDefault, maximumFractionDigits ?? minDefault);
  maximumFractionDigits ??= Math.max(maxDefault, minimumFractionDigits);
  if (minimumFractionDigits > maximumFractionDigits) {
    throw new RangeError(
      'minimumFractionDigits is greater than maximumFractionDigits: maximumFractionDigits value is out of range',
    );
  }
  return { minimumFractionDigits, maximumFractionDigits };
}

function readGrouping(options: Options, compact: boolean): string | false {
  const fallback = compact ? 'min2' : 'auto';
  const value = options.useGrouping;
  if (value === undefined || value === 'true' || value === 'false') return fallback;
  if (value === true) return 'always';
  return value ? choice(options, 'useGrouping', ['min2', 'auto', 'always'], fallback) : false;
}

/** Reads a record from words: 'A 1 B 2' → { A: '1', B: '2' }; '_' means a space. */
export function table(words: string): Readonly<Record<string, string | undefined>> {
  const entries: Record<string, string | undefined> = { __proto__: null as never };
  const list = words.split(' ');
  for (let at = 0; at < list.length; at += 2) entries[list[at]!] = list[at + 1]!.replaceAll('_', ' ');
  return entries;
}
