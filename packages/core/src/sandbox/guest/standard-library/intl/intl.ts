// The namespace Intl, and the methods of the language's own classes that use a locale.
import {
  Array,
  BigInt,
  construct,
  Date,
  defineProperty,
  getPrototypeOf,
  Number,
  String,
  TypeError,
  Uint8Array,
} from '../../primordials.js';
import { defineMembers, tag } from '../define.js';
import { Collator, textMethods } from './collation.js';
import { DateTimeFormat, dateMethods } from './dates.js';
import { ListFormat, PluralRules, RelativeTimeFormat } from './language.js';
import { bigintMethods, listMethods, NumberFormat, numberMethods } from './numbers.js';
import { requestedLocales } from './options.js';

type Formatter = new (locales?: unknown, options?: unknown) => object;

/** Replaces the engine's methods that use a locale. The new methods always use en-US. */
export function installLocaleMethods(): void {
  defineMembers(Number.prototype, numberMethods);
  defineMembers(BigInt.prototype, bigintMethods);
  defineMembers(Array.prototype, listMethods);
  defineMembers(getPrototypeOf(Uint8Array.prototype)!, listMethods);
  defineMembers(Date.prototype, dateMethods);
  defineMembers(String.prototype, textMethods);
}

export function makeIntl(): object {
  const Intl = {};
  tag(Intl, 'Intl');
  defineMembers(Intl, {
    getCanonicalLocales: (locales: unknown) => requestedLocales(locales),
    NumberFormat: publicForm('NumberFormat', NumberFormat, true),
    DateTimeFormat: publicForm('DateTimeFormat', DateTimeFormat, true),
    Collator: publicForm('Collator', Collator, true),
    PluralRules: publicForm('PluralRules', PluralRules, false),
    ListFormat: publicForm('ListFormat', ListFormat, false),
    RelativeTimeFormat: publicForm('RelativeTimeFormat', RelativeTimeFormat, false),
  });
  return Intl;
}

/**
 * The constructor that scripts use. `isCallable`: the class also works without `new`, as the standard's older
 * constructors do.
 */
function publicForm(name: string, Type: Formatter, isCallable: boolean): object {
  const Constructor = function (locales: unknown, options: unknown): object {
    if (new.target === undefined && !isCallable) throw new TypeError(`Intl.${name} must be called with new`);
    return construct(Type, [locales, options], new.target ?? Constructor) as object;
  };
  defineProperty(Constructor, 'name', { value: name, configurable: true });
  defineProperty(Constructor, 'length', { value: 0, configurable: true });
  defineProperty(Constructor, 'prototype', { value: Type.prototype as object, writable: false });
  defineMembers(Type.prototype as object, { constructor: Constructor });
  tag(Type.prototype as object, `Intl.${name}`);
  defineMembers(Constructor, {
    supportedLocalesOf: (locales: unknown) => requestedLocales(locales).filter((locale) => /^en\b/.test(locale)),
  });
  return Constructor;
}
