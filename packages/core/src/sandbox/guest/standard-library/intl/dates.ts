// Intl.DateTimeFormat and the toLocaleString family of Date.
//
// Each formatter has a pattern such as '{month}/{day}/{year}, {hour}:{minute} {dayPeriod}'. The pattern is created once
// from the options, with the fields in the order of en-US. To format a date, the formatter replaces each field with its
// value. The guest's own time zone is UTC. Other named zones are refused, because the guest does not include their
// tables; fixed offsets ('+05:30') work.

import { apply, Boolean, Date, Math, Number, Object, RangeError, String, TypeError } from '../../primordials.js';
import { choice, LOCALE, readOptions, whole, type Options } from './options.js';

/** The fields of a date, with the widths in which they are shown. */
interface Fields {
  weekday?: string | undefined;
  era?: string | undefined;
  year?: string | undefined;
  month?: string | undefined;
  day?: string | undefined;
  hour?: string | undefined;
  minute?: string | undefined;
  second?: string | undefined;
  fractionalSecondDigits?: number | undefined;
  timeZoneName?: string | undefined;
}

interface Zone {
  readonly name: string;
  readonly minutes: number;
  readonly isOffset?: boolean | undefined;
}

interface Styles {
  dateStyle?: StyleWidth | undefined;
  timeStyle?: StyleWidth | undefined;
}

type StyleWidth = 'full' | 'long' | 'medium' | 'short';
type Cycle = 'h11' | 'h12' | 'h23' | 'h24';
/** The kind of fields of which a caller must request at least one; otherwise, the default fields are added. */
type RequiredFields = 'any' | 'date' | 'time';
/** The default fields, which are added if the caller requests none of the required kind. */
type Defaults = 'all' | 'date' | 'time';

interface DateSettings {
  readonly zone: Zone;
  readonly cycle: Cycle;
  readonly fields: Fields;
  readonly styles: Styles;
}

interface DatePart {
  readonly type: string;
  readonly value: string;
}

const dateTime = Date.prototype.getTime;

const WEEKDAYS = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ');
const MONTHS = 'January February March April May June July August September October November December'.split(' ');
const ERAS: Readonly<Record<string, readonly string[]>> = {
  long: ['Before Christ', 'Anno Domini'],
  short: ['BC', 'AD'],
  narrow: ['B', 'A'],
};
const UTC_NAMES = [
  'UTC',
  'ETC/UTC',
  'GMT',
  'ETC/GMT',
  'ETC/UCT',
  'ETC/ZULU',
  'ETC/GREENWICH',
  'GREENWICH',
  'UCT',
  'ZULU',
];

const TEXT_WIDTHS = ['narrow', 'short', 'long'];
const NUMBER_WIDTHS = ['2-digit', 'numeric'];
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  weekday: TEXT_WIDTHS,
  era: TEXT_WIDTHS,
  year: NUMBER_WIDTHS,
  month: [...NUMBER_WIDTHS, ...TEXT_WIDTHS],
  day: NUMBER_WIDTHS,
  hour: NUMBER_WIDTHS,
  minute: NUMBER_WIDTHS,
  second: NUMBER_WIDTHS,
  timeZoneName: ['short', 'long', 'shortOffset', 'longOffset', 'shortGeneric', 'longGeneric'],
};
const DATE_FIELDS: readonly (keyof Fields)[] = ['weekday', 'year', 'month', 'day'];
const TIME_FIELDS: readonly (keyof Fields)[] = ['hour', 'minute', 'second', 'fractionalSecondDigits'];
const DATE_STYLES: Readonly<Record<StyleWidth, Fields>> = {
  full: { weekday: 'long', year: 'numeric', month: 'long', day: 'numeric' },
  long: { year: 'numeric', month: 'long', day: 'numeric' },
  medium: { year: 'numeric', month: 'short', day: 'numeric' },
  short: { year: '2-digit', month: 'numeric', day: 'numeric' },
};
const CLOCK = { hour: 'numeric', minute: '2-digit', second: '2-digit' };
const TIME_STYLES: Readonly<Record<StyleWidth, Fields>> = {
  full: { ...CLOCK, timeZoneName: 'long' },
  long: { ...CLOCK, timeZoneName: 'short' },
  medium: CLOCK,
  short: { hour: 'numeric', minute: '2-digit' },
};

// The space before AM and PM. `join` replaces it with an ordinary space.
const NARROW_SPACE = '\u202f';

export class DateTimeFormat {
  readonly #settings: DateSettings;
  readonly #pattern: readonly string[];
  #format: ((date?: unknown) => string) | undefined;

  constructor(locales?: unknown, options?: unknown) {
    this.#settings = readSettings(readOptions(locales, options), 'any', 'date');
    this.#pattern = datePatternParts(this.#settings);
  }

  get format(): (date?: unknown) => string {
    const settings = this.#settings;
    const pattern = this.#pattern;
    this.#format ??= (date) => join(fill(settings, pattern, timeValue(date)));
    return this.#format;
  }

  formatToParts(date?: unknown): DatePart[] {
    return fill(this.#settings, this.#pattern, timeValue(date));
  }

  formatRange(start: unknown, end: unknown): string {
    const [first, last] = [this.format(requiredDate(start)), this.format(requiredDate(end))];
    return first === last ? first : `${first} – ${last}`;
  }

  resolvedOptions(): Record<string, unknown> {
    const { zone, cycle, fields, styles } = this.#settings;
    const hour = fields.hour === undefined ? {} : { hourCycle: cycle, hour12: cycle === 'h11' || cycle === 'h12' };
    const shown = (styles.dateStyle ?? styles.timeStyle) ? styles : fields;
    return { locale: LOCALE, calendar: 'gregory', numberingSystem: 'latn', timeZone: zone.name, ...hour, ...shown };
  }
}

/** Creates a method of Date, and prepares the pattern for calls without options. */
function dateMethod(
  required: RequiredFields,
  defaults: Defaults,
): (date: Date, locales: unknown, options: unknown) => string {
  const plain = readSettings({}, required, defaults);
  const plainPattern = datePatternParts(plain);
  return (date, locales, options) => {
    const time = apply(dateTime, date, []);
    if (Number.isNaN(time)) return 'Invalid Date';
    if (options === undefined && (locales === undefined || locales === LOCALE))
      return join(fill(plain, plainPattern, time));
    const settings = readSettings(readOptions(locales, options), required, defaults);
    return join(fill(settings, datePatternParts(settings), time));
  };
}

const dateAndTime = dateMethod('any', 'all');
const onlyDate = dateMethod('date', 'date');
const onlyTime = dateMethod('time', 'time');

export const dateMethods = {
  toLocaleString(this: Date, locales?: unknown, options?: unknown): string {
    return dateAndTime(this, locales, options);
  },
  toLocaleDateString(this: Date, locales?: unknown, options?: unknown): string {
    return onlyDate(this, locales, options);
  },
  toLocaleTimeString(this: Date, locales?: unknown, options?: unknown): string {
    return onlyTime(this, locales, options);
  },
};

function timeValue(date: unknown): number {
  const time = date === undefined ? Date.now() : Number(date);
  if (!(Math.abs(time) <= 8.64e15)) throw new RangeError('Invalid time value');
  return Math.trunc(time);
}

function requiredDate(date: unknown): unknown {
  if (date === undefined) throw new TypeError('formatRange takes a start date and an end date');
  return date;
}

function join(parts: readonly DatePart[]): string {
  return parts
    .map((part) => part.value)
    .join('')
    .replace(NARROW_SPACE, ' ');
}

// --- options ---

function readSettings(options: Options, required: RequiredFields, defaults: Defaults): DateSettings {
  const fields: Record<string, unknown> & Fields = {};
  for (const [name, allowed] of Object.entries(FIELDS)) {
    if (options[name] !== undefined) fields[name] = choice(options, name, allowed, undefined);
  }
  const fraction = whole(options, 'fractionalSecondDigits', 1, 3, undefined);
  if (fraction !== undefined) fields.fractionalSecondDigits = fraction;
  if (options.dayPeriod !== undefined) {
    throw new RangeError('The option dayPeriod is not available here: use hour12: true for AM and PM');
  }
  const zone = readZone(options.timeZone);
  const styles = readStyles(options, fields, required);
  const chosen =
    (styles.dateStyle ?? styles.timeStyle) ? styleFields(styles) : withDefaults(fields, required, defaults);
  const hour12 = options.hour12;
  const hourCycle = choice<Cycle, Cycle>(options, 'hourCycle', ['h11', 'h12', 'h23', 'h24'], 'h12');
  const cycle = hour12 === undefined ? hourCycle : hour12 ? 'h12' : 'h23';
  return { zone, cycle, fields: chosen, styles };
}

function readStyles(options: Options, fields: Fields, required: RequiredFields): Styles {
  const widths: readonly StyleWidth[] = ['full', 'long', 'medium', 'short'];
  const styles: Styles = {};
  for (const name of ['dateStyle', 'timeStyle'] as const) {
    if (options[name] === undefined) continue;
    styles[name] = choice(options, name, widths, 'full');
    const field = Object.keys(fields)[0];
    if (field !== undefined) throw new TypeError(`Can't set option ${field} when ${name} is used`);
    if (required !== 'any' && !name.startsWith(required)) {
      throw new TypeError(`Invalid option : ${name}, for this method shows only the ${required}`);
    }
  }
  return styles;
}

function styleFields({ dateStyle, timeStyle }: Styles): Fields {
  const date = dateStyle === undefined ? {} : DATE_STYLES[dateStyle];
  return timeStyle === undefined ? date : { ...date, ...TIME_STYLES[timeStyle] };
}

function withDefaults(fields: Fields, required: RequiredFields, defaults: Defaults): Fields {
  const asked = [...(required === 'time' ? [] : DATE_FIELDS), ...(required === 'date' ? [] : TIME_FIELDS)];
  if (asked.some((name) => fields[name] !== undefined)) return fields;
  const date = defaults === 'time' ? {} : { year: 'numeric', month: 'numeric', day: 'numeric' };
  return { ...fields, ...date, ...(defaults === 'date' ? {} : CLOCK) };
}

function readZone(given: unknown): Zone {
  const name = given === undefined ? 'UTC' : String(given);
  if (UTC_NAMES.includes(name.toUpperCase())) return { name: 'UTC', minutes: 0 };
  const offset = /^([+-])([01][0-9]|2[0-3])(?::?([0-5][0-9]))?$/.exec(name);
  if (offset === null) {
    throw new RangeError(`The time zone "${name}" is not available here: use "UTC" or a fixed offset such as "+05:30"`);
  }
  const [, sign = '+', hours, minutes = '00'] = offset;
  const total = (Number(hours) * 60 + Number(minutes)) * (sign === '-' ? -1 : 1);
  return { name: `${total === 0 ? '+' : sign}${hours}:${minutes}`, minutes: total, isOffset: true };
}

// --- patterns ---

function datePatternParts({ fields, cycle, styles }: DateSettings): readonly string[] {
  return patternText(fields, cycle, styles).match(/\{\w+\}|[^{]+/g)!;
}

function patternText(fields: Fields, cycle: Cycle, styles: Styles): string {
  const date = datePattern(fields);
  const time = timePattern(fields, cycle);
  if (date === '' || time === '') return date + time;
  const { hour, fractionalSecondDigits, timeZoneName } = fields;
  const onlyWeekday =
    date === '{weekday}' && hour !== undefined && (fractionalSecondDigits ?? timeZoneName) === undefined;
  const long = fields.month === 'long' && (styles.timeStyle !== undefined || styles.dateStyle === undefined);
  return `${date}${onlyWeekday ? ' ' : long ? ' at ' : ', '}${time}`;
}

function datePattern({ weekday, era, year, month, day }: Fields): string {
  const isText = month !== undefined && TEXT_WIDTHS.includes(month);
  const yearText = year === undefined ? '' : '{year}';
  const dayText = day === undefined ? '' : '{day}';
  let date: string;
  if (isText) {
    const monthDay = dayText === '' ? '{month}' : '{month} {day}';
    date = yearText === '' ? monthDay : `${monthDay}${dayText === '' ? ' ' : ', '}{year}`;
  } else if (month !== undefined) {
    date = ['{month}', dayText, yearText].filter((field) => field !== '').join('/');
  } else date = yearText !== '' && dayText !== '' ? '{year} (day: {day})' : yearText + dayText;
  if (era !== undefined) date = date === '' ? '{era}' : `${date} {era}`;
  if (weekday === undefined) return date;
  if (date === '') return '{weekday}';
  return month !== undefined && day !== undefined ? `{weekday}, ${date}` : `${date} {weekday}`;
}

function timePattern({ hour, minute, second, fractionalSecondDigits, timeZoneName }: Fields, cycle: Cycle): string {
  const seconds = [second && '{second}', fractionalSecondDigits && '{fractionalSecond}'].filter(Boolean).join('.');
  const clock = [hour && '{hour}', minute && '{minute}', seconds].filter(Boolean).join(':');
  const period = hour !== undefined && (cycle === 'h11' || cycle === 'h12') ? `${NARROW_SPACE}{dayPeriod}` : '';
  return [clock + period, timeZoneName && '{timeZoneName}'].filter(Boolean).join(' ');
}

// --- formatting ---

function fill(settings: DateSettings, pattern: readonly string[], time: number): DatePart[] {
  const local = new Date(time + settings.zone.minutes * 60_000);
  const parts: DatePart[] = [];
  for (const piece of pattern) {
    const isField = piece[0] === '{';
    const type = isField ? piece.slice(1, -1) : 'literal';
    parts.push({ type, value: isField ? write(type, settings, local) : piece });
  }
  return parts;
}

function write(name: string, { fields, cycle, zone }: DateSettings, local: Date): string {
  const width = String(fields[name as keyof Fields]);
  const year = local.getUTCFullYear();
  switch (name) {
    case 'weekday':
      return shortName(WEEKDAYS[local.getUTCDay()]!, width);
    case 'era':
      return ERAS[width]![year > 0 ? 1 : 0]!;
    case 'year':
      return width === '2-digit'
        ? paddedNumber(Math.abs(year > 0 ? year : 1 - year) % 100)
        : String(year > 0 ? year : 1 - year);
    case 'month':
      return NUMBER_WIDTHS.includes(width)
        ? wide(local.getUTCMonth() + 1, width)
        : shortName(MONTHS[local.getUTCMonth()]!, width);
    case 'day':
      return wide(local.getUTCDate(), width);
    case 'hour':
      return writeHour(local.getUTCHours(), cycle, width);
    case 'minute':
      return fields.hour === undefined && fields.second === undefined
        ? String(local.getUTCMinutes())
        : paddedNumber(local.getUTCMinutes());
    case 'second':
      return fields.minute === undefined ? String(local.getUTCSeconds()) : paddedNumber(local.getUTCSeconds());
    case 'fractionalSecond':
      return String(local.getUTCMilliseconds()).padStart(3, '0').slice(0, fields.fractionalSecondDigits);
    case 'dayPeriod':
      return local.getUTCHours() < 12 ? 'AM' : 'PM';
    default:
      return zoneText(zone, width);
  }
}

function writeHour(hour: number, cycle: Cycle, width: string): string {
  if (cycle === 'h23') return paddedNumber(hour);
  if (cycle === 'h24') return paddedNumber(hour === 0 ? 24 : hour);
  return wide(cycle === 'h12' ? hour % 12 || 12 : hour % 12, width);
}

function zoneText({ minutes, isOffset = false }: Zone, width: string): string {
  if (!isOffset && width === 'short') return 'UTC';
  if (!isOffset && width === 'long') return 'Coordinated Universal Time';
  if (minutes === 0) return 'GMT';
  const size = Math.abs(minutes);
  const long = width.startsWith('long');
  const hours = long ? paddedNumber(Math.floor(size / 60)) : String(Math.floor(size / 60));
  const rest = long || size % 60 !== 0 ? `:${paddedNumber(size % 60)}` : '';
  return `GMT${minutes < 0 ? '-' : '+'}${hours}${rest}`;
}

function shortName(name: string, width: string): string {
  return width === 'long' ? name : name.slice(0, width === 'short' ? 3 : 1);
}

function wide(number: number, width: string): string {
  return width === '2-digit' ? paddedNumber(number) : String(number);
}

function paddedNumber(number: number): string {
  return String(number).padStart(2, '0');
}
