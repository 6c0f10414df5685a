// Headers of HTTP, as in the Fetch standard: names in lower case and in order, values of one name joined by commas.
import { isArray, keys, Map, String, Symbol, TypeError } from '../primordials.js';

const NAME = /^[\w!#$%&'*+.^`|~-]+$/;

export class Headers {
  readonly #values = new Map<string, string[]>();

  constructor(init?: unknown) {
    if (init === undefined || init === null) return;
    const pairs =
      init instanceof Headers || isArray(init) || typeof (init as Iterable<unknown>)[Symbol.iterator] === 'function'
        ? [...(init as Iterable<readonly [string, string]>)]
        : keys(init as object).map((name) => [name, (init as Record<string, string>)[name]!] as const);
    for (const [name, value] of pairs) this.append(name, value);
  }

  append(name: unknown, value: unknown): void {
    const key = headerName(name);
    const values = this.#values.get(key);
    if (values === undefined) this.#values.set(key, [headerValue(value)]);
    else values.push(headerValue(value));
  }

  set(name: unknown, value: unknown): void {
    this.#values.set(headerName(name), [headerValue(value)]);
  }

  get(name: unknown): string | null {
    return this.#values.get(headerName(name))?.join(', ') ?? null;
  }

  has(name: unknown): boolean {
    return this.#values.has(headerName(name));
  }

  delete(name: unknown): void {
    this.#values.delete(headerName(name));
  }

  getSetCookie(): string[] {
    return [...(this.#values.get('set-cookie') ?? [])];
  }

  forEach(callback: (value: string, name: string, all: Headers) => void, thisArg?: unknown): void {
    for (const [name, value] of this.entries()) callback.call(thisArg, value, name, this);
  }

  *entries(): IterableIterator<[string, string]> {
    for (const name of [...this.#values.keys()].toSorted()) {
      const values = this.#values.get(name) ?? [];
      if (name === 'set-cookie') for (const value of values) yield [name, value];
      else yield [name, values.join(', ')];
    }
  }

  *keys(): IterableIterator<string> {
    for (const [name] of this.entries()) yield name;
  }

  *values(): IterableIterator<string> {
    for (const [, value] of this.entries()) yield value;
  }
}

function headerName(name: unknown): string {
  const text = String(name);
  if (!NAME.test(text)) throw new TypeError(`"${text}" is not a name of a header`);
  return text.toLowerCase();
}

function headerValue(value: unknown): string {
  const text = String(value).trim();
  if (/[\0\r\n]/.test(text)) throw new TypeError('The value of a header has no line breaks');
  return text;
}
