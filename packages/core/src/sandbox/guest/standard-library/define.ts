// Properties defined like the language's own: writable, configurable and not enumerable.
import { defineProperty, keys, ownKeys, Symbol } from '../primordials.js';

/** Defines the members of a record on another object. */
export function defineMembers(target: object, members: object): void {
  for (const name of ownKeys(members)) {
    const value = (members as Record<PropertyKey, unknown>)[name];
    defineProperty(target, name, { value, writable: true, configurable: true, enumerable: false });
  }
}

/** Names functions and classes by their keys, because the bundler shortens all other names. */
export function nameMembers<Members extends Record<string, object>>(members: Members): Members {
  for (const name of keys(members)) defineProperty(members[name]!, 'name', { value: name, configurable: true });
  return members;
}

/** Gives a prototype or a namespace its `Symbol.toStringTag`. */
export function tag(target: object, value: string): void {
  defineProperty(target, Symbol.toStringTag, { value, configurable: true });
}
