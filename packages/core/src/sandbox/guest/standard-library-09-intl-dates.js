// The guest's standard library: Intl.DateTimeFormat and the toLocaleString family of Date.
//
// A format is a pattern such as '{month}/{day}/{year}, {hour}:{minute} {dayPeriod}', put together once from the
// options as en-US orders its fields and cut into its pieces; formatting fills it in. The guest's own time zone is UTC. Named zones need
// tables that are not here, so they are refused; fixed offsets ('+05:30') are served.
(function () {
  'use strict';

  const { Date, Math, Number, Object, RangeError, Reflect, String, TypeError } = globalThis;
  const { LOCALE, define, publish, readOptions, choice, whole } = globalThis.intlGround;
  const { apply } = Reflect;
  const dateTime = Date.prototype.getTime;

  const WEEKDAYS = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ');
  const MONTHS = 'January February March April May June July August September October November December'.split(' ');
  const ERAS = { long: ['Before Christ', 'Anno Domini'], short: ['BC', 'AD'], narrow: ['B', 'A'] };
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
  const FIELDS = {
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
  const DATE_FIELDS = ['weekday', 'year', 'month', 'day'];
  const TIME_FIELDS = ['hour', 'minute', 'second', 'fractionalSecondDigits'];
  const DATE_STYLES = {
    full: { weekday: 'long', year: 'numeric', month: 'long', day: 'numeric' },
    long: { year: 'numeric', month: 'long', day: 'numeric' },
    medium: { year: 'numeric', month: 'short', day: 'numeric' },
    short: { year: '2-digit', month: 'numeric', day: 'numeric' },
  };
  const CLOCK = { hour: 'numeric', minute: '2-digit', second: '2-digit' };
  const TIME_STYLES = {
    full: { ...CLOCK, timeZoneName: 'long' },
    long: { ...CLOCK, timeZoneName: 'short' },
    medium: CLOCK,
    short: { hour: 'numeric', minute: '2-digit' },
  };

  // Before AM and PM; written as an ordinary space wherever the parts are joined.
  const NARROW_SPACE = '\u202f';

  class DateTimeFormat {
    #settings;
    #pattern;
    #format;

    constructor(locales, options) {
      this.#settings = readSettings(readOptions(locales, options), 'any', 'date');
      this.#pattern = patternOf(this.#settings);
    }

    get format() {
      const settings = this.#settings;
      const pattern = this.#pattern;
      this.#format ??= (date) => join(fill(settings, pattern, timeOf(date)));
      return this.#format;
    }

    formatToParts(date) {
      return fill(this.#settings, this.#pattern, timeOf(date));
    }

    formatRange(start, end) {
      const [first, last] = [this.format(requiredDate(start)), this.format(requiredDate(end))];
      return first === last ? first : `${first} – ${last}`;
    }

    resolvedOptions() {
      const { zone, cycle, fields, styles } = this.#settings;
      const hour = fields.hour === undefined ? {} : { hourCycle: cycle, hour12: cycle === 'h11' || cycle === 'h12' };
      const shown = (styles.dateStyle ?? styles.timeStyle) ? styles : fields;
      return { locale: LOCALE, calendar: 'gregory', numberingSystem: 'latn', timeZone: zone.name, ...hour, ...shown };
    }
  }

  publish(DateTimeFormat, 'DateTimeFormat', true);
  for (const [name, required, defaults] of [
    ['toLocaleString', 'any', 'all'],
    ['toLocaleDateString', 'date', 'date'],
    ['toLocaleTimeString', 'time', 'time'],
  ]) {
    const plain = readSettings({}, required, defaults);
    const plainPattern = patternOf(plain);
    const method = {
      [name](locales, options) {
        const time = apply(dateTime, this, []);
        if (Number.isNaN(time)) return 'Invalid Date';
        if (options === undefined && (locales === undefined || locales === LOCALE))
          return join(fill(plain, plainPattern, time));
        const settings = readSettings(readOptions(locales, options), required, defaults);
        return join(fill(settings, patternOf(settings), time));
      },
    };
    define(Date.prototype, name, method[name]);
  }

  function timeOf(date) {
    const time = date === undefined ? Date.now() : Number(date);
    if (!(Math.abs(time) <= 8.64e15)) throw new RangeError('Invalid time value');
    return Math.trunc(time);
  }

  function requiredDate(date) {
    if (date === undefined) throw new TypeError('formatRange takes a start date and an end date');
    return date;
  }

  function join(parts) {
    return parts
      .map((part) => part.value)
      .join('')
      .replace(NARROW_SPACE, ' ');
  }

  // --- options ---

  // required, defaults: which fields the caller must have asked for, and which are shown when none of them was.
  function readSettings(options, required, defaults) {
    const fields = {};
    for (const [name, allowed] of Object.entries(FIELDS)) {
      if (options[name] !== undefined) fields[name] = choice(options, name, allowed);
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
    const hourCycle = choice(options, 'hourCycle', ['h11', 'h12', 'h23', 'h24'], 'h12');
    const cycle = hour12 === undefined ? hourCycle : hour12 ? 'h12' : 'h23';
    return { zone, cycle, fields: chosen, styles };
  }

  function readStyles(options, fields, required) {
    const widths = ['full', 'long', 'medium', 'short'];
    const styles = {};
    for (const name of ['dateStyle', 'timeStyle']) {
      if (options[name] === undefined) continue;
      styles[name] = choice(options, name, widths);
      const field = Object.keys(fields)[0];
      if (field !== undefined) throw new TypeError(`Can't set option ${field} when ${name} is used`);
      if (required !== 'any' && !name.startsWith(required)) {
        throw new TypeError(`Invalid option : ${name}, for this method shows only the ${required}`);
      }
    }
    return styles;
  }

  function styleFields({ dateStyle, timeStyle }) {
    return { ...DATE_STYLES[dateStyle], ...TIME_STYLES[timeStyle] };
  }

  function withDefaults(fields, required, defaults) {
    const asked = [...(required === 'time' ? [] : DATE_FIELDS), ...(required === 'date' ? [] : TIME_FIELDS)];
    if (asked.some((name) => fields[name] !== undefined)) return fields;
    const date = defaults === 'time' ? {} : { year: 'numeric', month: 'numeric', day: 'numeric' };
    return { ...fields, ...date, ...(defaults === 'date' ? {} : CLOCK) };
  }

  function readZone(given) {
    const name = given === undefined ? 'UTC' : String(given);
    if (UTC_NAMES.includes(name.toUpperCase())) return { name: 'UTC', minutes: 0 };
    const offset = /^([+-])([01][0-9]|2[0-3])(?::?([0-5][0-9]))?$/.exec(name);
    if (offset === null) {
      throw new RangeError(
        `The time zone "${name}" is not available here: use "UTC" or a fixed offset such as "+05:30"`,
      );
    }
    const [, sign, hours, minutes = '00'] = offset;
    const total = (Number(hours) * 60 + Number(minutes)) * (sign === '-' ? -1 : 1);
    return { name: `${total === 0 ? '+' : sign}${hours}:${minutes}`, minutes: total, isOffset: true };
  }

  // --- patterns ---

  function patternOf({ fields, cycle, styles }) {
    return patternText(fields, cycle, styles).match(/\{\w+\}|[^{]+/g);
  }

  function patternText(fields, cycle, styles) {
    const date = datePattern(fields);
    const time = timePattern(fields, cycle);
    if (date === '' || time === '') return date + time;
    const { hour, fractionalSecondDigits, timeZoneName } = fields;
    const onlyWeekday =
      date === '{weekday}' && hour !== undefined && (fractionalSecondDigits ?? timeZoneName) === undefined;
    const long = fields.month === 'long' && (styles.timeStyle !== undefined || styles.dateStyle === undefined);
    return `${date}${onlyWeekday ? ' ' : long ? ' at ' : ', '}${time}`;
  }

  function datePattern({ weekday, era, year, month, day }) {
    const isText = TEXT_WIDTHS.includes(month);
    const yearText = year === undefined ? '' : '{year}';
    const dayText = day === undefined ? '' : '{day}';
    let date;
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

  function timePattern({ hour, minute, second, fractionalSecondDigits, timeZoneName }, cycle) {
    const seconds = [second && '{second}', fractionalSecondDigits && '{fractionalSecond}'].filter(Boolean).join('.');
    const clock = [hour && '{hour}', minute && '{minute}', seconds].filter(Boolean).join(':');
    const period = hour !== undefined && (cycle === 'h11' || cycle === 'h12') ? `${NARROW_SPACE}{dayPeriod}` : '';
    return [clock + period, timeZoneName && '{timeZoneName}'].filter(Boolean).join(' ');
  }

  // --- filling in ---

  function fill(settings, pattern, time) {
    const local = new Date(time + settings.zone.minutes * 60_000);
    const parts = [];
    for (const piece of pattern) {
      const isField = piece[0] === '{';
      const type = isField ? piece.slice(1, -1) : 'literal';
      parts.push({ type, value: isField ? write(type, settings, local) : piece });
    }
    return parts;
  }

  function write(name, { fields, cycle, zone }, local) {
    const width = fields[name];
    const year = local.getUTCFullYear();
    switch (name) {
      case 'weekday':
        return shortened(WEEKDAYS[local.getUTCDay()], width);
      case 'era':
        return ERAS[width][year > 0 ? 1 : 0];
      case 'year':
        return width === '2-digit'
          ? padded(Math.abs(year > 0 ? year : 1 - year) % 100)
          : String(year > 0 ? year : 1 - year);
      case 'month':
        return NUMBER_WIDTHS.includes(width)
          ? wide(local.getUTCMonth() + 1, width)
          : shortened(MONTHS[local.getUTCMonth()], width);
      case 'day':
        return wide(local.getUTCDate(), width);
      case 'hour':
        return writeHour(local.getUTCHours(), cycle, width);
      case 'minute':
        return fields.hour === undefined && fields.second === undefined
          ? String(local.getUTCMinutes())
          : padded(local.getUTCMinutes());
      case 'second':
        return fields.minute === undefined ? String(local.getUTCSeconds()) : padded(local.getUTCSeconds());
      case 'fractionalSecond':
        return String(local.getUTCMilliseconds()).padStart(3, '0').slice(0, fields.fractionalSecondDigits);
      case 'dayPeriod':
        return local.getUTCHours() < 12 ? 'AM' : 'PM';
      default:
        return zoneText(zone, width);
    }
  }

  function writeHour(hour, cycle, width) {
    if (cycle === 'h23') return padded(hour);
    if (cycle === 'h24') return padded(hour === 0 ? 24 : hour);
    return wide(cycle === 'h12' ? hour % 12 || 12 : hour % 12, width);
  }

  function zoneText({ minutes, isOffset }, width) {
    if (!isOffset && width === 'short') return 'UTC';
    if (!isOffset && width === 'long') return 'Coordinated Universal Time';
    if (minutes === 0) return 'GMT';
    const size = Math.abs(minutes);
    const long = width.startsWith('long');
    const hours = long ? padded(Math.floor(size / 60)) : String(Math.floor(size / 60));
    const rest = long || size % 60 !== 0 ? `:${padded(size % 60)}` : '';
    return `GMT${minutes < 0 ? '-' : '+'}${hours}${rest}`;
  }

  function shortened(name, width) {
    return width === 'long' ? name : name.slice(0, width === 'short' ? 3 : 1);
  }

  function wide(number, width) {
    return width === '2-digit' ? padded(number) : String(number);
  }

  function padded(number) {
    return String(number).padStart(2, '0');
  }
})();
