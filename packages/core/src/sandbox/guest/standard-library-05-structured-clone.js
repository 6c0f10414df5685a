// The guest's standard library: structuredClone.
//
// A copy is made in one pass: `copies` maps every object already met to its copy, so that cycles and shared objects
// keep their shape. What kind of object a value is, is asked of the engine (a getter that throws for every other
// kind), never of a property that the value could have been given.
(function () {
  'use strict';

  const { Array, ArrayBuffer, BigInt, Boolean, DataView, Date, DOMException, Error, Map, Number, Object } = globalThis;
  const { Promise, Reflect, RegExp, Set, String, Symbol, TypeError } = globalThis;
  const { apply, construct, defineProperty, getOwnPropertyDescriptor, getPrototypeOf } = Reflect;
  const { hasOwn, keys } = Object;
  const { isArray } = Array;
  const isPrototypeOf = Object.prototype.isPrototypeOf;

  const typedArrayPrototype = getPrototypeOf(globalThis.Uint8Array.prototype);
  const typedArrayName = getter(typedArrayPrototype, Symbol.toStringTag);
  const typedArrayBuffer = getter(typedArrayPrototype, 'buffer');
  const typedArrayOffset = getter(typedArrayPrototype, 'byteOffset');
  const typedArrayLength = getter(typedArrayPrototype, 'length');
  const viewBuffer = getter(DataView.prototype, 'buffer');
  const viewOffset = getter(DataView.prototype, 'byteOffset');
  const viewLength = getter(DataView.prototype, 'byteLength');
  const bufferLength = getter(ArrayBuffer.prototype, 'byteLength');
  const bufferMaximum = getter(ArrayBuffer.prototype, 'maxByteLength');
  const bufferResizable = getter(ArrayBuffer.prototype, 'resizable');
  const bufferDetached = getter(ArrayBuffer.prototype, 'detached');
  const bufferSlice = ArrayBuffer.prototype.slice;
  const dateTime = Date.prototype.getTime;
  const expressionSource = getter(RegExp.prototype, 'source');
  const expressionFlags = getter(RegExp.prototype, 'flags');
  const mapSize = getter(Map.prototype, 'size');
  const mapForEach = Map.prototype.forEach;
  const mapSet = Map.prototype.set;
  const setSize = getter(Set.prototype, 'size');
  const setForEach = Set.prototype.forEach;
  const setAdd = Set.prototype.add;

  // Views are rebuilt by name: only these names exist, and the global object may be changed later.
  const typedArrays = { __proto__: null };
  for (const name of (
    'Int8Array Uint8Array Uint8ClampedArray Int16Array Uint16Array Int32Array Uint32Array BigInt64Array ' +
    'BigUint64Array Float16Array Float32Array Float64Array'
  ).split(' ')) {
    if (globalThis[name] !== undefined) typedArrays[name] = globalThis[name];
  }

  const errors = { __proto__: null, Error };
  for (const name of ['EvalError', 'RangeError', 'ReferenceError', 'SyntaxError', 'TypeError', 'URIError']) {
    errors[name] = globalThis[name];
  }

  // Tried in this order; the first whose `read` does not throw makes the copy.
  const kinds = [
    { read: dateTime, copy: (value) => new Date(apply(dateTime, value, [])) },
    { read: mapSize, copy: copyMap },
    { read: setSize, copy: copySet },
    { read: expressionSource, copy: copyExpression },
    { read: bufferLength, copy: copyBuffer },
    { read: typedArrayBuffer, copy: copyTypedArray },
    { read: viewBuffer, copy: copyView },
    ...[Boolean, Number, String, BigInt].map(({ prototype: { valueOf } }) => ({
      read: valueOf,
      copy: (value) => Object(apply(valueOf, value, [])),
    })),
  ];

  // Objects with a state of their own that cannot be copied.
  const refusedPrototypes = [
    Promise.prototype,
    globalThis.WeakMap.prototype,
    globalThis.WeakSet.prototype,
    globalThis.WeakRef?.prototype,
    globalThis.FinalizationRegistry?.prototype,
    globalThis.URL?.prototype,
    globalThis.URLSearchParams?.prototype,
    globalThis.TextEncoder?.prototype,
    globalThis.TextDecoder?.prototype,
    getPrototypeOf(getPrototypeOf([].values())),
    getPrototypeOf(getPrototypeOf((async function* () {})())),
    Symbol.prototype,
  ].filter((prototype) => prototype !== undefined);

  function structuredClone(value, options) {
    if (arguments.length === 0) throw new TypeError('structuredClone takes the value to copy');
    const transfer = options?.transfer;
    if (transfer !== undefined && [...transfer].length > 0) {
      throw notCloneable('structuredClone copies here and cannot transfer: leave the option "transfer" out');
    }
    return clone(value, new Map());
  }

  defineProperty(globalThis, 'structuredClone', {
    value: structuredClone,
    writable: true,
    configurable: true,
    enumerable: false,
  });

  function clone(value, copies) {
    if (typeof value === 'function' || typeof value === 'symbol') throw refusal(value);
    if (typeof value !== 'object' || value === null) return value;
    const known = copies.get(value);
    if (known !== undefined) return known;
    if (isArray(value)) return copyArray(value, copies);
    const prototype = getPrototypeOf(value);
    return prototype === Object.prototype || prototype === null ? copyPlain(value, copies) : copySpecial(value, copies);
  }

  function copySpecial(value, copies) {
    if (Error.isError(value) || apply(isPrototypeOf, DOMException.prototype, [value])) return copyError(value, copies);
    for (const { read, copy } of kinds) {
      if (!answers(read, value)) continue;
      const result = copy(value, copies);
      copies.set(value, result);
      return result;
    }
    if (refusedPrototypes.some((prototype) => apply(isPrototypeOf, prototype, [value]))) throw refusal(value);
    return copyPlain(value, copies);
  }

  function answers(read, value) {
    try {
      apply(read, value, []);
      return true;
    } catch {
      return false;
    }
  }

  function copyPlain(source, copies) {
    const target = {};
    copies.set(source, target);
    return copyProperties(source, target, copies);
  }

  function copyProperties(source, target, copies) {
    for (const key of keys(source)) {
      if (hasOwn(source, key)) setOwn(target, key, clone(source[key], copies));
    }
    return target;
  }

  function copyArray(source, copies) {
    const target = [];
    copies.set(source, target);
    const { length } = source;
    copyProperties(source, target, copies);
    target.length = length;
    return target;
  }

  function copyMap(source, copies) {
    const target = new Map();
    copies.set(source, target);
    const entries = [];
    apply(mapForEach, source, [(value, key) => entries.push([key, value])]);
    for (const [key, value] of entries) apply(mapSet, target, [clone(key, copies), clone(value, copies)]);
    return target;
  }

  function copySet(source, copies) {
    const target = new Set();
    copies.set(source, target);
    const values = [];
    apply(setForEach, source, [(value) => values.push(value)]);
    for (const value of values) apply(setAdd, target, [clone(value, copies)]);
    return target;
  }

  function copyExpression(source) {
    return new RegExp(apply(expressionSource, source, []), apply(expressionFlags, source, []));
  }

  function copyBuffer(source) {
    if (apply(bufferDetached, source, [])) {
      throw notCloneable('An ArrayBuffer is detached and could not be cloned.');
    }
    const bytes = apply(bufferSlice, source, [0]);
    if (!apply(bufferResizable, source, [])) return bytes;
    const target = new ArrayBuffer(apply(bufferLength, source, []), {
      maxByteLength: apply(bufferMaximum, source, []),
    });
    new typedArrays.Uint8Array(target).set(new typedArrays.Uint8Array(bytes));
    return target;
  }

  function copyTypedArray(source, copies) {
    const buffer = clone(apply(typedArrayBuffer, source, []), copies);
    const Type = typedArrays[apply(typedArrayName, source, [])];
    return construct(Type, [buffer, apply(typedArrayOffset, source, []), apply(typedArrayLength, source, [])]);
  }

  function copyView(source, copies) {
    const buffer = clone(apply(viewBuffer, source, []), copies);
    return new DataView(buffer, apply(viewOffset, source, []), apply(viewLength, source, []));
  }

  function copyError(source, copies) {
    if (apply(isPrototypeOf, DOMException.prototype, [source])) {
      const target = new DOMException(source.message, source.name);
      copies.set(source, target);
      return target;
    }
    const name = String(source.name);
    const prototype = (errors[name] ?? Error).prototype;
    const target = construct(Error, [], errors[name] ?? Error);
    copies.set(source, target);
    if (getPrototypeOf(target) !== prototype) Reflect.setPrototypeOf(target, prototype);
    const message = getOwnPropertyDescriptor(source, 'message');
    if (message !== undefined && 'value' in message) defineHidden(target, 'message', String(message.value));
    defineHidden(target, 'stack', typeof source.stack === 'string' ? source.stack : undefined);
    if (hasOwn(source, 'cause')) defineHidden(target, 'cause', clone(source.cause, copies));
    return target;
  }

  function setOwn(target, key, value) {
    if (key in target) defineProperty(target, key, { value, writable: true, configurable: true, enumerable: true });
    else target[key] = value;
  }

  function defineHidden(target, key, value) {
    defineProperty(target, key, { value, writable: true, configurable: true, enumerable: false });
  }

  function getter(prototype, key) {
    return getOwnPropertyDescriptor(prototype, key).get;
  }

  function refusal(value) {
    if (typeof value === 'object') return notCloneable(`#<${nameOf(value)}> could not be cloned.`);
    const text = String(value);
    return notCloneable(`${text.length > 100 ? `${text.slice(0, 100)}…` : text} could not be cloned.`);
  }

  function nameOf(value) {
    const name = value.constructor?.name;
    return typeof name === 'string' && name !== '' ? name : 'Object';
  }

  function notCloneable(message) {
    return new DOMException(message, 'DataCloneError');
  }
})();
