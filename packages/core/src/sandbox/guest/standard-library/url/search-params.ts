// URLSearchParams as the URL standard (url.spec.whatwg.org) defines it.
import { apply, Array, Object, Symbol, TypeError } from '../../primordials.js';
import { encodeRun, percentDecode } from './percent-encoding.js';
import { cut, wellFormedText } from './records.js';

type Pair = [name: string, value: string];

// The static block of the class assigns these functions. Only they give access to the class's private members.
export let replaceList: (parameters: URLSearchParams, list: Pair[]) => void;
export let onListChange: (parameters: URLSearchParams, changed: (query: string) => void) => void;

export class URLSearchParams {
  #list: Pair[] = [];
  #onChange: ((query: string) => void) | null = null;

  static {
    replaceList = (parameters, list) => {
      parameters.#list = list;
    };
    onListChange = (parameters, changed) => {
      parameters.#onChange = changed;
    };
  }

  constructor(init: unknown = '') {
    this.#list = typeof init === 'object' ? initialPairs(init ?? {}) : parseForm(withoutMark(wellFormedText(init)));
  }

  get size(): number {
    return this.#list.length;
  }

  append(name: unknown, value: unknown): void {
    requireArguments(arguments, 2, 'append');
    this.#list.push([wellFormedText(name), wellFormedText(value)]);
    this.#update();
  }

  delete(name: unknown, value?: unknown): void {
    requireArguments(arguments, 1, 'delete');
    const unwanted = matcher(name, value);
    this.#list = this.#list.filter((pair) => !unwanted(pair));
    this.#update();
  }

  get(name: unknown): string | null {
    requireArguments(arguments, 1, 'get');
    return this.#list.find(matcher(name))?.[1] ?? null;
  }

  getAll(name: unknown): string[] {
    requireArguments(arguments, 1, 'getAll');
    return this.#list.filter(matcher(name)).map((pair) => pair[1]);
  }

  has(name: unknown, value?: unknown): boolean {
    requireArguments(arguments, 1, 'has');
    return this.#list.some(matcher(name, value));
  }

  set(name: unknown, value: unknown): void {
    requireArguments(arguments, 2, 'set');
    const pair: Pair = [wellFormedText(name), wellFormedText(value)];
    const first = this.#list.findIndex(matcher(name));
    if (first < 0) this.#list.push(pair);
    else this.#list = this.#list.filter((other, at) => at <= first || other[0] !== pair[0]).with(first, pair);
    this.#update();
  }

  sort(): void {
    this.#list.sort(([first], [second]) => (first < second ? -1 : first > second ? 1 : 0));
    this.#update();
  }

  forEach(callback: (value: string, name: string, parameters: this) => unknown, thisValue?: unknown): void {
    if (typeof callback !== 'function') throw new TypeError('URLSearchParams.forEach takes a function');
    for (let at = 0; at < this.#list.length; at++) {
      const [name, value] = this.#list[at]!;
      apply(callback, thisValue, [value, name, this]);
    }
  }

  // The iteration is live: it includes pairs that a script appends during the iteration.
  *entries(): IterableIterator<Pair> {
    for (let at = 0; at < this.#list.length; at++) yield [...this.#list[at]!];
  }

  *keys(): IterableIterator<string> {
    for (let at = 0; at < this.#list.length; at++) yield this.#list[at]![0];
  }

  *values(): IterableIterator<string> {
    for (let at = 0; at < this.#list.length; at++) yield this.#list[at]![1];
  }

  toString(): string {
    return this.#list.map(([name, value]) => `${encodeForm(name)}=${encodeForm(value)}`).join('&');
  }

  #update(): void {
    this.#onChange?.(this.toString());
  }
}

export function requireArguments(given: IArguments, count: number, name: string): void {
  if (given.length >= count) return;
  throw new TypeError(`${name} takes at least ${count} argument${count === 1 ? '' : 's'}, not ${given.length}`);
}

export function withoutMark(text: string): string {
  return text[0] === '?' ? text.slice(1) : text;
}

function initialPairs(init: object): Pair[] {
  const iterate = (init as { [Symbol.iterator]?: unknown })[Symbol.iterator];
  if (iterate === undefined || iterate === null) {
    return Object.keys(init).map((name) => [
      wellFormedText(name),
      wellFormedText((init as Record<string, unknown>)[name]),
    ]);
  }
  return Array.from(init as Iterable<unknown>, (entry) => {
    const pair = typeof entry === 'object' && entry !== null ? Array.from(entry as Iterable<unknown>) : [];
    if (pair.length !== 2) {
      throw new TypeError('URLSearchParams takes a string, an object, or a list of pairs of a name and a value');
    }
    return pair.map(wellFormedText) as Pair;
  });
}

/** Reads application/x-www-form-urlencoded. */
export function parseForm(text: string): Pair[] {
  const list: Pair[] = [];
  for (const piece of text.split('&')) {
    if (piece === '') continue;
    const [name, value] = cut(piece.replaceAll('+', ' '), '=');
    list.push([percentDecode(name), percentDecode(value ?? '')]);
  }
  return list;
}

function encodeForm(text: string): string {
  return encodeRun(text).replaceAll('%20', '+');
}

function matcher(name: unknown, value?: unknown): (pair: Pair) => boolean {
  const wantedName = wellFormedText(name);
  if (value === undefined) return (pair) => pair[0] === wantedName;
  const wantedValue = wellFormedText(value);
  return (pair) => pair[0] === wantedName && pair[1] === wantedValue;
}
