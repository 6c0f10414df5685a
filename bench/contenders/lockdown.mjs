/**
 * A lockdown for engines that have none: it disables dynamic code and freezes the intrinsics, with as little work as
 * possible. It runs once in every fresh context.
 */
export const LOCKDOWN = `(() => {
  'use strict';
  const scope = globalThis;
  const dead = function Function() { throw new TypeError('dynamic code is off'); };
  const kinds = [function () {}, async function () {}, function* () {}, async function* () {}].map(Object.getPrototypeOf);
  for (const kind of kinds) {
    Object.defineProperty(kind, 'constructor', { value: dead, writable: false, configurable: false });
    Object.freeze(kind);
  }
  delete scope.eval;
  delete scope.Function;
  for (const name of Object.getOwnPropertyNames(scope)) {
    const value = scope[name];
    if (value === scope || value === null || (typeof value !== 'object' && typeof value !== 'function')) continue;
    Object.freeze(value);
    if (value.prototype) Object.freeze(value.prototype);
  }
  const typed = Object.getPrototypeOf(Uint8Array);
  Object.freeze(typed);
  Object.freeze(typed.prototype);
  for (const made of [[].values(), ''[Symbol.iterator](), new Map().values(), new Set().values(), (function* () {})(), (async function* () {})()]) {
    for (let at = Object.getPrototypeOf(made); at && at !== Object.prototype; at = Object.getPrototypeOf(at)) Object.freeze(at);
  }
})();`;
