import { table } from './labels.js';
import { fixed, has, identityOnly, isObject, pureFunctions } from './records.js';
import { arrayPrototype } from './models.js';

// natives without effects model what they are given; and those that read no contents
export const SAFE = new Set(
  'Object Function Array Number Boolean String Symbol BigInt Math JSON Reflect Error EvalError RangeError ReferenceError SyntaxError TypeError URIError AggregateError Map Set WeakMap WeakSet WeakRef Date RegExp Promise'.split(
    ' ',
  ),
);
export const natives = table(new Set()),
  plainGetters = new WeakSet();
for (const name of Object.getOwnPropertyNames(globalThis)) {
  if (name === 'tools' || name === 'context') continue;
  let g;
  try {
    g = globalThis[name];
  } catch {
    continue;
  }
  for (const o of [g, g?.prototype])
    if (isObject(o)) {
      if (typeof o === 'function') natives.add(o);
      if (Object.isFrozen(o)) fixed.add(o);
      for (const k of Reflect.ownKeys(o)) {
        const d = Reflect.getOwnPropertyDescriptor(o, k);
        if (typeof d.value === 'function') natives.add(d.value);
        else if (d.get && SAFE.has(name)) {
          try {
            const v = o[k];
            if (typeof v === 'function') {
              natives.add(v);
              plainGetters.add(d.get);
            }
          } catch {}
        }
      }
    }
}
for (const o of [
  String.prototype,
  Number,
  Number.prototype,
  Math,
  JSON,
  Boolean.prototype,
  Symbol.prototype,
  BigInt.prototype,
  BigInt,
  String,
  Date,
])
  for (const k of Reflect.ownKeys(o)) {
    const d = Reflect.getOwnPropertyDescriptor(o, k);
    let x = d.value;
    if (d.get) {
      try {
        x = o[k];
      } catch {}
    }
    if (typeof x === 'function') pureFunctions.add(x);
  }
for (const k of Reflect.ownKeys(Date.prototype))
  if (typeof k === 'string' && /^(get|to|valueOf)/.test(k)) pureFunctions.add(Date.prototype[k]);
for (const f of [
  String,
  Number,
  Boolean,
  BigInt,
  Symbol,
  Date,
  Error,
  TypeError,
  RangeError,
  RegExp,
  globalThis.URL,
  globalThis.URLSearchParams,
  parseInt,
  parseFloat,
  isNaN,
  isFinite,
  encodeURIComponent,
  decodeURIComponent,
  encodeURI,
  decodeURI,
  globalThis.structuredClone,
  globalThis.btoa,
  globalThis.atob,
  Array.of,
  arrayPrototype.join,
  arrayPrototype.includes,
  arrayPrototype.indexOf,
  arrayPrototype.lastIndexOf,
  arrayPrototype.toString,
  arrayPrototype.flat,
  arrayPrototype.toReversed,
  arrayPrototype.with,
  arrayPrototype.toSpliced,
  Object.create,
  Object.getOwnPropertyNames,
  Object.is,
  Object.groupBy,
  Map.groupBy,
  Object.hasOwn,
  Object.getOwnPropertyDescriptor,
  has,
  Object.prototype.toString,
  globalThis.Intl?.NumberFormat,
  globalThis.Intl?.DateTimeFormat,
])
  if (f) pureFunctions.add(f);
for (const f of [Array.isArray, Object.isFrozen, Object.getPrototypeOf, Array]) identityOnly.add(f);
