// The language's own classes and functions, read before the first script. Every module of the guest imports them from
// this module, so that no script can replace them.

export const {
  Array,
  ArrayBuffer,
  BigInt,
  Boolean,
  DataView,
  Date,
  DOMException,
  Error,
  FinalizationRegistry,
  Function,
  Iterator,
  Map,
  Math,
  Number,
  Object,
  Promise,
  Proxy,
  RangeError,
  Reflect,
  RegExp,
  Set,
  String,
  Symbol,
  TypeError,
  Uint8Array,
  WeakMap,
  WeakRef,
  WeakSet,
  atob,
  btoa,
  decodeURIComponent,
  encodeURIComponent,
  escape,
  parseFloat,
  parseInt,
  unescape,
} = globalThis;

export const { apply, construct, defineProperty, getOwnPropertyDescriptor, getPrototypeOf, ownKeys } = Reflect;
export const { create, freeze, keys } = Object;
export const { isArray } = Array;
export const { parse, stringify } = globalThis.JSON;
export const { floor, min, max } = Math;
