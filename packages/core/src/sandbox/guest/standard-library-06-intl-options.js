// The guest's standard library: the ground of Intl.
//
// English (en-US) is the only locale: others are accepted and answered in en-US, as Intl does for locales it has no
// data for. The files of Intl share what is below through a global that the last of them takes away again.
(function () {
  'use strict';

  const { Array, Math, Number, Object, RangeError, Reflect, String, Symbol, TypeError } = globalThis;

  const LOCALE = 'en-US';
  const LANGUAGE_TAG = /^(?:[a-z]{2,3}|[a-z]{5,8})(?:-[a-z0-9]{1,8})*$/i;

  const Intl = {};
  Object.defineProperty(Intl, Symbol.toStringTag, { value: 'Intl', configurable: true });
  define(globalThis, 'Intl', Intl);
  define(Intl, 'getCanonicalLocales', (locales) => requestedLocales(locales));
  define(globalThis, 'intlGround', { LOCALE, define, publish, readOptions, choice, whole });

  function define(target, name, value) {
    Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable: false });
  }

  // Intl[name]: works with and without `new` when `isCallable`, as the standard's older constructors do.
  function publish(Type, name, isCallable) {
    const Constructor = function (locales, options) {
      if (new.target === undefined && !isCallable) throw new TypeError(`Intl.${name} must be called with new`);
      return Reflect.construct(Type, [locales, options], new.target ?? Constructor);
    };
    Object.defineProperty(Constructor, 'name', { value: name, configurable: true });
    Object.defineProperty(Constructor, 'length', { value: 0, configurable: true });
    Object.defineProperty(Constructor, 'prototype', { value: Type.prototype, writable: false });
    define(Type.prototype, 'constructor', Constructor);
    Object.defineProperty(Type.prototype, Symbol.toStringTag, { value: `Intl.${name}`, configurable: true });
    define(Constructor, 'supportedLocalesOf', (locales) =>
      requestedLocales(locales).filter((tag) => /^en\b/.test(tag)),
    );
    define(Intl, name, Constructor);
  }

  function requestedLocales(locales) {
    if (locales === undefined) return [];
    if (locales === null) throw new TypeError('A locale is text such as "en-US", not null');
    const list = typeof locales === 'string' ? [locales] : Array.from(locales);
    return list.map((tag) => {
      if (typeof tag !== 'string' && (typeof tag !== 'object' || tag === null))
        throw new TypeError('A locale is text such as "en-US"');
      if (!LANGUAGE_TAG.test(String(tag))) throw new RangeError(`Incorrect locale information provided: "${tag}"`);
      return String(tag);
    });
  }

  // Checks the locale and gives the options as an object; null is refused as the standard does.
  function readOptions(locales, options) {
    requestedLocales(locales);
    if (options === undefined) return {};
    if (options === null) throw new TypeError('Formatting options are an object, not null');
    return Object(options);
  }

  function choice(options, name, allowed, fallback) {
    const value = options[name];
    if (value === undefined) return fallback;
    const text = String(value);
    if (!allowed.includes(text)) {
      throw new RangeError(`"${text}" is no value of the option ${name}: use ${allowed.join(', ')}`);
    }
    return text;
  }

  function whole(options, name, least, most, fallback) {
    const value = options[name];
    if (value === undefined) return fallback;
    const number = Number(value);
    if (!(number >= least && number <= most)) {
      throw new RangeError(`${name} value is out of range: use a whole number from ${least} to ${most}`);
    }
    return Math.floor(number);
  }
})();
