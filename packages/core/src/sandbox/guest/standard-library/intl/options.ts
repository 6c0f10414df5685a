// Locales and options of Intl.
//
// English (en-US) is the only locale. Other locales are accepted, but the result is that of en-US, as in an Intl
// without data for those locales.
import { Array, Math, Number, Object, RangeError, String, TypeError } from '../../primordials.js';

export const LOCALE = 'en-US';
const LANGUAGE_TAG = /^(?:[a-z]{2,3}|[a-z]{5,8})(?:-[a-z0-9]{1,8})*$/i;

/** A caller's options. */
export type Options = Readonly<Record<string, unknown>>;

export function requestedLocales(locales: unknown): string[] {
  if (locales === undefined) return [];
  if (locales === null) throw new TypeError('A locale is a string such as "en-US", not null');
  const list = typeof locales === 'string' ? [locales] : Array.from(locales as Iterable<unknown>);
  return list.map((tag) => {
    if (typeof tag !== 'string' && (typeof tag !== 'object' || tag === null))
      throw new TypeError('A locale is a string such as "en-US"');
    if (!LANGUAGE_TAG.test(String(tag))) throw new RangeError(`Incorrect locale information provided: "${tag}"`);
    return String(tag);
  });
}

/** Checks the locale and returns the options as an object. Refuses null, as the standard does. */
export function readOptions(locales: unknown, options: unknown): Options {
  requestedLocales(locales);
  if (options === undefined) return {};
  if (options === null) throw new TypeError('Formatting options are an object, not null');
  return Object(options) as Options;
}

/** Reads an option whose value is one of `allowed`. */
export function choice<Value extends string, Fallback>(
  options: Options,
  name: string,
  allowed: readonly Value[],
  fallback: Fallback,
): Value | Fallback {
  const value = options[name];
  if (value === undefined) return fallback;
  const text = String(value);
  if (!allowed.includes(text as Value)) {
    throw new RangeError(`"${text}" is not a value of the option ${name}: use ${allowed.join(', ')}`);
  }
  return text as Value;
}

/** Reads an option whose value is a whole number. */
export function whole<Fallback>(
  options: Options,
  name: string,
  min: number,
  max: number,
  fallback: Fallback,
): number | Fallback {
  const value = options[name];
  if (value === undefined) return fallback;
  const number = Number(value);
  if (!(number >= min && number <= max)) {
    throw new RangeError(`${name} value is out of range: use a whole number from ${min} to ${max}`);
  }
  return Math.floor(number);
}
