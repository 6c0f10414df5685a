// Features that the guest needs from its engine and that a bare V8 realm lacks: browser globals, and features that
// older releases of V8 do not have yet. They are provided before `primordials.ts` is evaluated, so that this module
// finds the same language as in QuickJS.

const { defineProperty, getPrototypeOf } = Reflect;

/** Defines members like the language's own, except those that the engine already has. */
function provide(target: object, members: Record<PropertyKey, unknown>): void {
  for (const name of Reflect.ownKeys(members)) {
    if (Object.hasOwn(target, name)) continue;
    const value = members[name as string];
    if (typeof value === 'function' && typeof name === 'string') defineProperty(value, 'name', { value: name });
    defineProperty(target, name, { value, writable: true, configurable: true, enumerable: false });
  }
}

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

function toBase64(length: number, byteAt: (index: number) => number): string {
  let text = '';
  for (let at = 0; at < length; at += 3) {
    const left = length - at;
    const bits = (byteAt(at) << 16) | ((left > 1 ? byteAt(at + 1) : 0) << 8) | (left > 2 ? byteAt(at + 2) : 0);
    text += DIGITS[bits >>> 18]! + DIGITS[(bits >>> 12) & 63]!;
    text += (left > 1 ? DIGITS[(bits >>> 6) & 63]! : '=') + (left > 2 ? DIGITS[bits & 63]! : '=');
  }
  return text;
}

/** The bytes of a text; undefined if the text is not base64. */
function fromBase64(text: string): number[] | undefined {
  const bare = text.replace(/[\t\n\f\r ]/gu, '');
  const digits = bare.length % 4 === 0 ? bare.replace(/={1,2}$/u, '') : bare;
  if (digits.length % 4 === 1 || /[^A-Za-z0-9+/]/u.test(digits)) return undefined;
  const bytes: number[] = [];
  let bits = 0;
  let count = 0;
  for (const digit of digits) {
    bits = ((bits << 6) | DIGITS.indexOf(digit)) & 0xffffff;
    count += 6;
    if (count >= 8) bytes.push((bits >>> (count -= 8)) & 255);
  }
  return bytes;
}

const DOM_CODES: Readonly<Record<string, number>> = {
  InvalidCharacterError: 5,
  NotSupportedError: 9,
  SyntaxError: 12,
  AbortError: 20,
  TimeoutError: 23,
  DataCloneError: 25,
};

class DOMException extends Error {
  readonly code: number;

  constructor(message = '', name = 'Error') {
    super(String(message));
    const hidden = { writable: true, configurable: true, enumerable: false };
    defineProperty(this, 'name', { value: String(name), ...hidden });
    this.code = DOM_CODES[name] ?? 0;
    defineProperty(this, 'code', { value: this.code, ...hidden });
  }
}

function notBase64(what: string): Error {
  return new DOMException(what, 'InvalidCharacterError');
}

/** Iterator helpers, for releases of V8 before 12.2. */
function makeIteratorHelpers(): Record<PropertyKey, unknown> {
  return {
    *map(this: Iterable<unknown>, change: (value: unknown, index: number) => unknown) {
      let index = 0;
      for (const value of this) yield change(value, index++);
    },
    *filter(this: Iterable<unknown>, keep: (value: unknown, index: number) => boolean) {
      let index = 0;
      for (const value of this) if (keep(value, index++)) yield value;
    },
    *take(this: Iterable<unknown>, limit: number) {
      let left = limit;
      if (left <= 0) return;
      for (const value of this) {
        yield value;
        if (--left <= 0) return;
      }
    },
    *drop(this: Iterable<unknown>, limit: number) {
      let left = limit;
      for (const value of this) if (left-- <= 0) yield value;
    },
    *flatMap(this: Iterable<unknown>, change: (value: unknown, index: number) => Iterable<unknown>) {
      let index = 0;
      for (const value of this) yield* change(value, index++);
    },
    reduce(
      this: Iterable<unknown>,
      merge: (sum: unknown, value: unknown, index: number) => unknown,
      ...first: [unknown?]
    ) {
      return (Array.from(this).reduce as (...values: unknown[]) => unknown).apply(Array.from(this), [merge, ...first]);
    },
    toArray(this: Iterable<unknown>) {
      return Array.from(this);
    },
    forEach(this: Iterable<unknown>, act: (value: unknown, index: number) => unknown) {
      let index = 0;
      for (const value of this) act(value, index++);
    },
    some(this: Iterable<unknown>, holds: (value: unknown, index: number) => boolean) {
      let index = 0;
      for (const value of this) if (holds(value, index++)) return true;
      return false;
    },
    every(this: Iterable<unknown>, holds: (value: unknown, index: number) => boolean) {
      let index = 0;
      for (const value of this) if (!holds(value, index++)) return false;
      return true;
    },
    find(this: Iterable<unknown>, holds: (value: unknown, index: number) => boolean) {
      let index = 0;
      for (const value of this) if (holds(value, index++)) return value;
      return undefined;
    },
  };
}

function makeIterator(prototype: object): object {
  const made = function Iterator() {};
  defineProperty(made, 'prototype', { value: prototype, writable: false });
  defineProperty(made, 'name', { value: 'Iterator' });
  provide(made, {
    *from(values: Iterable<unknown> | Iterator<unknown>) {
      yield* Symbol.iterator in values ? values : { [Symbol.iterator]: () => values };
    },
  });
  return made;
}

/** Set methods, for releases of V8 before 12.2. */
function makeSetMethods(): Record<PropertyKey, unknown> {
  const listedValues = (other: Iterable<unknown> & ReadonlySet<unknown>) => new Set(other.keys());
  type Other = Iterable<unknown> & ReadonlySet<unknown>;
  return {
    union(this: Set<unknown>, other: Other) {
      return new Set([...this, ...listedValues(other)]);
    },
    intersection(this: Set<unknown>, other: Other) {
      return new Set([...this].filter((value) => other.has(value)));
    },
    difference(this: Set<unknown>, other: Other) {
      return new Set([...this].filter((value) => !other.has(value)));
    },
    symmetricDifference(this: Set<unknown>, other: Other) {
      const others = listedValues(other);
      return new Set([
        ...[...this].filter((value) => !others.has(value)),
        ...[...others].filter((value) => !this.has(value)),
      ]);
    },
    isSubsetOf(this: Set<unknown>, other: Other) {
      return [...this].every((value) => other.has(value));
    },
    isSupersetOf(this: Set<unknown>, other: Other) {
      return [...listedValues(other)].every((value) => this.has(value));
    },
    isDisjointFrom(this: Set<unknown>, other: Other) {
      return ![...this].some((value) => other.has(value));
    },
  };
}

/**
 * Provides all missing features. `realm.ts` calls this function once, before any other code reads the language's
 * members.
 */
export function provideMissing(): void {
  const ownText = Object.prototype.toString;
  const iteratorPrototype = getPrototypeOf(getPrototypeOf([][Symbol.iterator]())!)!;

  provide(globalThis, {
    DOMException,
    Iterator: makeIterator(iteratorPrototype),
    btoa: (binary: string) => {
      const text = String(binary);
      if (/[^\0-\xff]/u.test(text)) throw notBase64('The string to be encoded contains characters outside of Latin1');
      return toBase64(text.length, (index) => text.charCodeAt(index));
    },
    atob: (text: string) => {
      const bytes = fromBase64(String(text));
      if (bytes === undefined) throw notBase64('The string to be decoded is not correctly encoded');
      return bytes.map((byte) => String.fromCharCode(byte)).join('');
    },
  });
  provide(iteratorPrototype, makeIteratorHelpers());
  provide(Set.prototype, makeSetMethods());
  provide(Error, {
    isError: (value: unknown) => typeof value === 'object' && ownText.call(value) === '[object Error]',
  });
  provideStatics();
}

function provideStatics(): void {
  provide(Promise, {
    try: (act: (...values: unknown[]) => unknown, ...values: unknown[]) =>
      new Promise((resolve) => resolve(act(...values))),
    withResolvers: () => {
      const made: Record<string, unknown> = {};
      made['promise'] = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }));
      return made;
    },
  });
  provide(Object, {
    groupBy: (values: Iterable<unknown>, keyOf: (value: unknown, index: number) => PropertyKey) => {
      const groups = Object.create(null) as Record<PropertyKey, unknown[]>;
      let index = 0;
      for (const value of values) (groups[keyOf(value, index++)] ??= []).push(value);
      return groups;
    },
  });
  provide(Map, {
    groupBy: (values: Iterable<unknown>, keyOf: (value: unknown, index: number) => unknown) => {
      const groups = new Map<unknown, unknown[]>();
      let index = 0;
      for (const value of values) {
        const key = keyOf(value, index++);
        const group = groups.get(key);
        if (group === undefined) groups.set(key, [value]);
        else group.push(value);
      }
      return groups;
    },
  });
  provide(Array, {
    fromAsync: async (
      values: Iterable<unknown> | AsyncIterable<unknown>,
      change?: (value: unknown, index: number) => unknown,
    ) => {
      const made: unknown[] = [];
      for await (const value of values) made.push(change === undefined ? value : await change(value, made.length));
      return made;
    },
  });
  provide(Uint8Array, { fromBase64: (text: string) => new Uint8Array(fromBase64(text) ?? []) });
  provide(Uint8Array.prototype, {
    toBase64(this: Uint8Array) {
      return toBase64(this.length, (index) => this[index]!);
    },
  });
  provideAccessor(ArrayBuffer.prototype, 'resizable', () => false);
  provideAccessor(ArrayBuffer.prototype, 'detached', () => false);
  provideAccessor(ArrayBuffer.prototype, 'maxByteLength', (buffer) => (buffer as ArrayBuffer).byteLength);
}

function provideAccessor(target: object, name: string, read: (receiver: unknown) => unknown): void {
  if (Object.hasOwn(target, name)) return;
  defineProperty(target, name, {
    get(): unknown {
      return read(this);
    },
    configurable: true,
    enumerable: false,
  });
}
