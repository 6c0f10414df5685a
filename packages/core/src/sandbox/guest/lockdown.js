// Hardens the realm once, before the image is taken: a reviewed list of globals, no dynamic code, every
// intrinsic frozen.
//
// Freezing alone would break ordinary code: assigning `error.name` or `counts.constructor` fails when the
// inherited property is read-only (the "override mistake"). So each data property of a shared prototype
// becomes an accessor whose setter defines an own property on the receiver, as assignment would have done:
// all of Object's, Function's and the errors', and everywhere else the names that classes and records use.
(function () {
  'use strict';

  const { ownKeys, getPrototypeOf, getOwnPropertyDescriptor, defineProperty, apply, deleteProperty } = Reflect;
  const { freeze } = Object;
  const { hasOwnProperty } = Object.prototype;

  const ALLOWED_GLOBALS = new Set([
    'globalThis',
    'Infinity',
    'NaN',
    'undefined',
    'Object',
    'Function',
    'Array',
    'Number',
    'Boolean',
    'String',
    'Symbol',
    'BigInt',
    'Math',
    'JSON',
    'Reflect',
    'Proxy',
    'Error',
    'EvalError',
    'RangeError',
    'ReferenceError',
    'SyntaxError',
    'TypeError',
    'URIError',
    'AggregateError',
    'SuppressedError',
    'DOMException',
    'Promise',
    'Map',
    'Set',
    'WeakMap',
    'WeakSet',
    'WeakRef',
    'FinalizationRegistry',
    'Date',
    'RegExp',
    'Iterator',
    'ArrayBuffer',
    'DataView',
    'Uint8Array',
    'Int8Array',
    'Uint8ClampedArray',
    'Uint16Array',
    'Int16Array',
    'Uint32Array',
    'Int32Array',
    'BigInt64Array',
    'BigUint64Array',
    'Float16Array',
    'Float32Array',
    'Float64Array',
    'DisposableStack',
    'AsyncDisposableStack',
    'parseInt',
    'parseFloat',
    'isNaN',
    'isFinite',
    'decodeURI',
    'decodeURIComponent',
    'encodeURI',
    'encodeURIComponent',
    'escape',
    'unescape',
    'queueMicrotask',
    'structuredClone',
    'URL',
    'URLSearchParams',
    'TextEncoder',
    'TextDecoder',
    'atob',
    'btoa',
    'Intl',
    'performance',
    'console',
    'text',
    'emit',
    'sleep',
    'setTimeout',
    'setInterval',
    'clearTimeout',
    'clearInterval',
    'catalog',
    'ApprovalDeniedError',
    'ApprovalTimeoutError',
    'ToolNotFoundError',
    'ToolValidationError',
    'ToolExecutionError',
    'ToolBudgetExceededError',
    'SerializationError',
  ]);

  // The engine's error class for a full heap. No global, but a caught error leads to it, so it is frozen too.
  const { InternalError } = globalThis;

  Error.prepareStackTrace = (_error, sites) => sites;
  const CallSitePrototype = getPrototypeOf(new Error().stack[0]);
  Error.prepareStackTrace = undefined;
  for (const key of ownKeys(CallSitePrototype)) deleteProperty(CallSitePrototype, key);
  freeze(CallSitePrototype);

  for (const name of ownKeys(globalThis)) {
    // defence: only-reviewed-globals
    if (typeof name === 'string' && !ALLOWED_GLOBALS.has(name)) deleteProperty(globalThis, name);
  }
  // Hands out call sites, which lead to the functions of the bridge. None is ever made again; should one be, it leads nowhere.
  // defence: no-call-sites
  deleteProperty(Error, 'prepareStackTrace');
  // A setter of the engine's own that freezing does not stop: without traces, calls would have no place.
  // defence: stack-traces-keep-their-length
  defineProperty(Error, 'stackTraceLimit', { get: () => 10, set() {}, enumerable: false, configurable: false });

  const intrinsics = new Set();
  const found = [globalThis];
  const prototypeOf = (value) => getPrototypeOf(value);
  found.push(
    prototypeOf(async function () {}),
    prototypeOf(function* () {}),
    prototypeOf(async function* () {}),
    prototypeOf((function* () {})()),
    prototypeOf((async function* () {})()),
    prototypeOf([][Symbol.iterator]()),
    prototypeOf(new Map()[Symbol.iterator]()),
    prototypeOf(new Set()[Symbol.iterator]()),
    prototypeOf(''[Symbol.iterator]()),
    prototypeOf('a'.matchAll(/a/g)),
    prototypeOf(new Uint8Array()),
    prototypeOf([].values().map((value) => value)),
    prototypeOf(
      Iterator.from({
        next() {
          return { done: true };
        },
      }),
    ),
    // defence: internal-error-is-frozen
    InternalError,
    (function () {
      return getOwnPropertyDescriptor(arguments, 'callee').get;
    })(),
  );
  while (found.length > 0) {
    const value = found.pop();
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null || intrinsics.has(value)) continue;
    intrinsics.add(value);
    for (const key of ownKeys(value)) {
      const property = getOwnPropertyDescriptor(value, key);
      found.push('value' in property ? property.value : property.get, property.set);
    }
    found.push(getPrototypeOf(value));
  }

  const prototypes = new Set([Object.prototype, Function.prototype]);
  for (const value of intrinsics) {
    if (typeof value === 'function' && value !== globalThis) {
      const prototype = getOwnPropertyDescriptor(value, 'prototype')?.value;
      if (typeof prototype === 'object' && prototype !== null) prototypes.add(prototype);
    } else if (typeof getOwnPropertyDescriptor(value, Symbol.toStringTag)?.value === 'string') {
      prototypes.add(value);
    }
  }
  prototypes.delete(globalThis);

  const OFTEN_ASSIGNED = new Set([
    'constructor',
    'toString',
    'toLocaleString',
    'valueOf',
    'toJSON',
    'then',
    'catch',
    'finally',
    'next',
    'return',
    'throw',
    'name',
    'message',
    'get',
    'set',
    'has',
    'add',
    'delete',
    'push',
    'pop',
  ]);
  const isOpen = (prototype) =>
    prototype === Object.prototype ||
    prototype === Function.prototype ||
    prototype === Error.prototype ||
    getPrototypeOf(prototype) === Error.prototype;

  for (const prototype of prototypes) {
    if (!intrinsics.has(prototype)) continue;
    for (const key of ownKeys(prototype)) {
      if (typeof key === 'symbol' || !(isOpen(prototype) || OFTEN_ASSIGNED.has(key))) continue;
      const property = getOwnPropertyDescriptor(prototype, key);
      if (!('value' in property) || !property.configurable || !property.writable) continue;
      const { value } = property;
      const get = () => value;
      const set = {
        set(assigned) {
          if (this === prototype || this === null || (typeof this !== 'object' && typeof this !== 'function')) {
            throw new TypeError('Cannot assign to read only property ' + String(key));
          }
          if (apply(hasOwnProperty, this, [key])) this[key] = assigned;
          else if (
            !defineProperty(this, key, { value: assigned, writable: true, enumerable: true, configurable: true })
          ) {
            throw new TypeError('Cannot add property ' + String(key));
          }
        },
      }.set;
      defineProperty(prototype, key, { get, set, enumerable: property.enumerable, configurable: false });
      freeze(get);
      freeze(set);
      if (typeof set.prototype === 'object') freeze(set.prototype);
    }
  }

  // defence: intrinsics-are-frozen
  for (const value of intrinsics) if (value !== globalThis) freeze(value);
  for (const key of ownKeys(globalThis)) {
    const property = getOwnPropertyDescriptor(globalThis, key);
    if (property.configurable && 'value' in property)
      defineProperty(globalThis, key, {
        value: property.value,
        writable: false,
        configurable: false,
        enumerable: property.enumerable,
      });
  }
})();
