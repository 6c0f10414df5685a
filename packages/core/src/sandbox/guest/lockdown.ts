// Hardens the realm once, before the image is taken: a reviewed list of globals, no dynamic code, every
// intrinsic frozen.
import { ALLOWED_GLOBALS } from './allowed-globals.js';
import {
  apply,
  defineProperty,
  Error,
  freeze,
  Function,
  getOwnPropertyDescriptor,
  getPrototypeOf,
  Iterator,
  Map,
  Object,
  ownKeys,
  Reflect,
  Set,
  Symbol,
  TypeError,
  Uint8Array,
} from './primordials.js';

const { deleteProperty } = Reflect;
const { hasOwnProperty } = Object.prototype;

export function lockDown(): void {
  // The engine throws an InternalError when the heap is full. The class is not a global, but a caught error gives
  // access to it, so the class is frozen too.
  const { InternalError } = globalThis;
  freezeCallSites();
  removeGlobals();
  const intrinsics = findIntrinsics(InternalError);
  for (const prototype of sharedPrototypes(intrinsics)) keepAssignable(prototype);
  // defence: intrinsics-are-frozen
  for (const value of intrinsics) if (value !== globalThis) freeze(value);
  lockGlobals();
}

function freezeCallSites(): void {
  Error.prepareStackTrace = (_error, sites) => sites;
  const sites = new Error().stack as unknown as object[];
  const CallSitePrototype = getPrototypeOf(sites[0]!)!;
  Error.prepareStackTrace = undefined;
  for (const key of ownKeys(CallSitePrototype)) deleteProperty(CallSitePrototype, key);
  freeze(CallSitePrototype);
}

function removeGlobals(): void {
  for (const name of ownKeys(globalThis)) {
    // defence: only-reviewed-globals
    if (typeof name === 'string' && !ALLOWED_GLOBALS.has(name)) deleteProperty(globalThis, name);
  }
  // `prepareStackTrace` exposes call sites, which give access to the functions of the bridge. Without it, the engine
  // creates no call sites.
  // defence: no-call-sites
  deleteProperty(Error, 'prepareStackTrace');
  // Freezing does not disable this setter of the engine. A script could use it to remove all traces, and calls would
  // have no positions.
  // defence: stack-traces-keep-their-length
  defineProperty(Error, 'stackTraceLimit', { get: () => 10, set() {}, enumerable: false, configurable: false });
}

/** All objects that a script can reach from the global object and by the language's syntax. */
function findIntrinsics(InternalError: ErrorConstructor): object[] {
  const found: unknown[] = [
    globalThis,
    getPrototypeOf(async function () {}),
    getPrototypeOf(function* () {}),
    getPrototypeOf(async function* () {}),
    getPrototypeOf((function* () {})()),
    getPrototypeOf((async function* () {})()),
    getPrototypeOf([][Symbol.iterator]()),
    getPrototypeOf(new Map()[Symbol.iterator]()),
    getPrototypeOf(new Set()[Symbol.iterator]()),
    getPrototypeOf(''[Symbol.iterator]()),
    getPrototypeOf('a'.matchAll(/a/g)),
    getPrototypeOf(new Uint8Array()),
    getPrototypeOf([].values().map((value) => value)),
    getPrototypeOf(Iterator.from({ next: () => ({ done: true, value: undefined }) })),
    // defence: internal-error-is-frozen
    InternalError,
    (function () {
      return getOwnPropertyDescriptor(arguments, 'callee')!.get;
    })(),
  ];
  // This is a list, because a set would take so much of the heap that the image would become larger.
  const intrinsics: object[] = [];
  while (found.length > 0) {
    const value = found.pop();
    if (!isObject(value) || intrinsics.includes(value)) continue;
    intrinsics.push(value);
    for (const key of ownKeys(value)) {
      const property = getOwnPropertyDescriptor(value, key)!;
      found.push('value' in property ? property.value : property.get, property.set);
    }
    found.push(getPrototypeOf(value));
  }
  return intrinsics;
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

function sharedPrototypes(intrinsics: readonly object[]): Set<object> {
  const prototypes = new Set<object>([Object.prototype, Function.prototype]);
  for (const value of intrinsics) {
    if (typeof value === 'function') {
      const prototype: unknown = getOwnPropertyDescriptor(value, 'prototype')?.value;
      if (typeof prototype === 'object' && prototype !== null && intrinsics.includes(prototype))
        prototypes.add(prototype);
    } else if (value !== globalThis && typeof getOwnPropertyDescriptor(value, Symbol.toStringTag)?.value === 'string') {
      prototypes.add(value);
    }
  }
  return prototypes;
}

/**
 * Freezing alone would break ordinary code: assigning `error.name` or `counts.constructor` fails when the inherited
 * property is read-only (the "override mistake"). So data properties of shared prototypes become accessors whose
 * setters define an own property on the receiver, as assignment would have done.
 */
function keepAssignable(prototype: object): void {
  // The functions are nested, so that the accessors of a prototype share one reference to the prototype.
  const makeAccessor = (key: string, { value, enumerable = false }: PropertyDescriptor): void => {
    const accessors = {
      get: (): unknown => value,
      set(this: unknown, assigned: unknown): void {
        assign(this, key, assigned, prototype);
      },
    };
    defineProperty(prototype, key, { ...accessors, enumerable, configurable: false });
    freeze(accessors.get);
    freeze(accessors.set);
  };
  for (const key of ownKeys(prototype)) {
    if (typeof key === 'symbol') continue;
    const property = getOwnPropertyDescriptor(prototype, key)!;
    if ('value' in property && property.configurable === true && property.writable === true)
      makeAccessor(key, property);
  }
}

/** Hundreds of setters share this function, which keeps each of them small. */
function assign(receiver: unknown, key: string, value: unknown, prototype: object): void {
  if (receiver === prototype || !isObject(receiver)) throw new TypeError('Cannot assign to read only property ' + key);
  if (apply(hasOwnProperty, receiver, [key])) (receiver as Record<string, unknown>)[key] = value;
  else if (!defineProperty(receiver, key, { value, writable: true, enumerable: true, configurable: true }))
    throw new TypeError('Cannot add property ' + key);
}

function lockGlobals(): void {
  for (const key of ownKeys(globalThis)) {
    const { value, enumerable = false, configurable, ...rest } = getOwnPropertyDescriptor(globalThis, key)!;
    if (configurable === true && 'writable' in rest)
      defineProperty(globalThis, key, { value, writable: false, configurable: false, enumerable });
  }
}
