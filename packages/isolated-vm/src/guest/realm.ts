// Changes a fresh V8 realm before the guest is made in it, so that it has the properties that QuickJS has by itself: no
// code from text, the host's clock, and errors whose stacks only the bridge makes.
//
// V8 formats stacks according to members of its own `Error` (`prepareStackTrace`, `stackTraceLimit`). Scripts get
// another `Error` with the same prototype, so they can reach neither V8's own `Error` nor a call site.

import { provideMissing } from './missing.js';

provideMissing();

type Site = object;
type UncurriedMethod<Value> = (site: Site) => Value;

const { apply, construct, defineProperty, deleteProperty, getOwnPropertyDescriptor, getPrototypeOf, setPrototypeOf } =
  Reflect;

const SCRIPT_FILE = 'script.ts';
/** Maximum number of frames that V8 records. Frames of the bridge precede those of the script. */
const MAX_FRAMES = 64;
const MAX_SHOWN_FRAMES = 10;

interface V8Error extends ErrorConstructor {
  prepareStackTrace?: ((error: Error, sites: Site[]) => unknown) | undefined;
}

const NativeError = Error as V8Error;
const NativeRangeError = RangeError;
const nativeCapture = NativeError.captureStackTrace;
const weakGet = WeakMap.prototype.get;
const weakSet = WeakMap.prototype.set;
const setHas = WeakSet.prototype.has;
const setAdd = WeakSet.prototype.add;

// A realm that is made for a snapshot has no `stackTraceLimit` yet. Without this limit, V8 records no stacks.
NativeError.stackTraceLimit = MAX_FRAMES;

const sitePrototype = (() => {
  NativeError.prepareStackTrace = (_error, sites) => sites;
  const [site] = new NativeError().stack as unknown as Site[];
  NativeError.prepareStackTrace = undefined;
  return getPrototypeOf(site!) as Record<string, () => unknown>;
})();

function siteMethod<Value>(name: string): UncurriedMethod<Value> {
  const method = sitePrototype[name]!;
  return (site) => apply(method, site, []) as Value;
}

const siteLine = siteMethod<number>('getLineNumber');
const siteColumn = siteMethod<number>('getColumnNumber');
const siteFile = siteMethod<unknown>('getFileName');
const siteFunctionName = siteMethod<unknown>('getFunctionName');

/** The reader of the next stack: a script, the bridge, or the host, which needs only the position of a call. */
let purpose: 'error' | 'raw' | 'place' = 'error';
let place = '0,0;';
/** The text of each error's frames, with positions in the compiled code. */
const rawStacks = new WeakMap<object, string>();
/** Returns the stack of an error as the script sees it. */
let present: ((error: object) => unknown) | undefined;
/** Errors that were created with the classes of `replaceClass`, and not by the engine. */
const scriptsOwn = new WeakSet<object>();

function frames(sites: readonly Site[]): string {
  let text = '';
  let shown = 0;
  for (let index = 0; index < sites.length && shown < MAX_SHOWN_FRAMES; index++) {
    const site = sites[index]!;
    if (siteFile(site) !== SCRIPT_FILE) continue;
    const name = siteFunctionName(site);
    text += (shown++ === 0 ? '' : '\n') + '    at ' + (typeof name === 'string' && name !== '' ? name + ' ' : '');
    text += '(' + SCRIPT_FILE + ':' + siteLine(site) + ':' + siteColumn(site) + ')';
  }
  return text;
}

function formatStack(error: Error, sites: Site[]): unknown {
  const given = (ScriptError as V8Error).prepareStackTrace;
  if (typeof given === 'function') return given(error, sites);
  if (purpose === 'place') {
    place = placeIn(sites);
    return '';
  }
  const raw = frames(sites);
  if (purpose === 'raw') return raw;
  apply(weakSet, rawStacks, [error, raw]);
  return present === undefined ? raw : present(error);
}

function placeIn(sites: readonly Site[]): string {
  for (let index = 0; index < sites.length; index++)
    if (siteFile(sites[index]!) === SCRIPT_FILE) return siteLine(sites[index]!) + ',' + siteColumn(sites[index]!) + ';';
  return '0,0;';
}

/** Line and column of the innermost call that the script made, each followed by its separator. */
export function callPlace(): string {
  purpose = 'place';
  place = '0,0;';
  try {
    const holder = {} as { stack?: unknown };
    nativeCapture(holder);
    void holder.stack;
    return place;
  } finally {
    purpose = 'error';
  }
}

/** The engine's own stack of an error; undefined for any other value. */
function rawStack(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const known = apply(weakGet, rawStacks, [error]) as string | undefined;
  if (known !== undefined) return known;
  // The engine formats a stack when it is first read.
  const own = getOwnPropertyDescriptor(error, 'stack');
  if (own?.get !== undefined) apply(own.get, error, []);
  return apply(weakGet, rawStacks, [error]) as string | undefined;
}

/**
 * `S` or `M` for an error that the engine created because its stack or its memory was full; `-` for any other value.
 * Scripts create their errors with the class that replaces `RangeError`.
 */
export function exceededLimit(error: unknown): 'S' | 'M' | '-' {
  if (typeof error !== 'object' || error === null || getPrototypeOf(error) !== NativeRangeError.prototype) return '-';
  if (apply(setHas, scriptsOwn, [error]) as boolean) return '-';
  const message: unknown = getOwnPropertyDescriptor(error, 'message')?.value;
  if (message === 'Maximum call stack size exceeded') return 'S';
  return message === 'Array buffer allocation failed' ? 'M' : '-';
}

/**
 * Replaces a global error class with one that creates the same errors and adds them to `scriptsOwn`. Returns the new
 * class.
 */
function replaceClass(name: string, Native: ErrorConstructor): ErrorConstructor {
  const made = function (...values: unknown[]) {
    const error = construct(Native, values, new.target ?? made) as object;
    apply(setAdd, scriptsOwn, [error]);
    return error;
  } as unknown as ErrorConstructor;
  defineProperty(made, 'name', { value: name, configurable: true });
  defineProperty(made, 'length', { value: 1, configurable: true });
  defineProperty(made, 'prototype', { value: Native.prototype, writable: false });
  defineProperty(Native.prototype, 'constructor', { value: made, writable: true, configurable: true });
  defineProperty(globalThis, name, { value: made, writable: true, configurable: true });
  return made;
}

const ScriptError = replaceClass('Error', NativeError);
const { captureStackTrace } = {
  captureStackTrace(target: object, below?: () => unknown): void {
    purpose = 'raw';
    try {
      nativeCapture(target, below);
      const value: unknown = (target as { stack?: unknown }).stack;
      defineProperty(target, 'stack', { value, writable: true, configurable: true, enumerable: false });
    } finally {
      purpose = 'error';
    }
  },
};
const hiddenProperty = { writable: true, configurable: true, enumerable: false };
defineProperty(ScriptError, 'captureStackTrace', { value: captureStackTrace, ...hiddenProperty });
defineProperty(ScriptError, 'isError', { value: (NativeError as { isError?: unknown }).isError, ...hiddenProperty });
defineProperty(ScriptError, 'stackTraceLimit', { value: 10, ...hiddenProperty });
defineProperty(ScriptError.prototype, 'stack', {
  get(): unknown {
    return rawStack(this);
  },
  set() {},
  configurable: true,
  enumerable: false,
});
setPrototypeOf(replaceClass('RangeError', RangeError), ScriptError);
for (const name of ['EvalError', 'ReferenceError', 'SyntaxError', 'TypeError', 'URIError', 'AggregateError'] as const)
  setPrototypeOf(globalThis[name], ScriptError);
setPrototypeOf(globalThis.DOMException, ScriptError);
NativeError.prepareStackTrace = formatStack;

/**
 * Sets the function that makes the stacks that scripts read. The guest calls this function once, before the first
 * script.
 */
export function presentStacks(show: (error: object) => unknown): void {
  present = show;
}

/** The host's clock, in ms since 1970. It does not advance within a segment. */
let clockMs = 0;

export function setClock(ms: number): void {
  clockMs = ms;
}

function replaceDate(): void {
  const Native = Date;
  const toText = Native.prototype.toString;
  const made = function (...values: unknown[]): unknown {
    if (new.target === undefined) return apply(toText, new Native(clockMs), []);
    return construct(Native, values.length === 0 ? [clockMs] : values, new.target) as unknown;
  };
  const members: Record<string, unknown> = { UTC: Native.UTC, parse: Native.parse, now: { now: () => clockMs }.now };
  defineProperty(members['now'] as object, 'name', { value: 'now', configurable: true });
  for (const name of ['UTC', 'parse', 'now']) defineProperty(made, name, { value: members[name], ...hiddenProperty });
  defineProperty(made, 'name', { value: 'Date', configurable: true });
  defineProperty(made, 'length', { value: 7, configurable: true });
  defineProperty(made, 'prototype', { value: Native.prototype, writable: false });
  defineProperty(Native.prototype, 'constructor', { value: made, ...hiddenProperty });
  defineProperty(globalThis, 'Date', { value: made, ...hiddenProperty });
}

/** Removes `eval`, and replaces the constructors of functions, which create code from text. The replacements throw. */
function removeDynamicCode(): void {
  const kinds = {
    Function: () => {},
    AsyncFunction: async () => {},
    GeneratorFunction: function* () {},
    AsyncGeneratorFunction: async function* () {},
  };
  for (const [name, made] of Object.entries(kinds)) {
    const prototype = getPrototypeOf(made)!;
    const inert = function () {
      throw new TypeError('Code from text is not available in scripts');
    };
    defineProperty(inert, 'name', { value: name, configurable: true });
    defineProperty(inert, 'prototype', { value: prototype, writable: false });
    defineProperty(prototype, 'constructor', { value: inert, writable: name === 'Function', configurable: true });
    if (name === 'Function') defineProperty(globalThis, 'Function', { value: inert, ...hiddenProperty });
    else setPrototypeOf(inert, globalThis.Function);
  }
  deleteProperty(globalThis, 'eval');
}

// defence: v8-clock-of-the-host
replaceDate();
// defence: v8-no-code-from-text
removeDynamicCode();
