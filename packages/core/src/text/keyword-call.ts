/** A call that a model wrote in another notation than a script. */
export interface ForeignCall {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/** Calls with keywords, as Python writes them, and the index after them. */
interface KeywordCalls {
  readonly calls: readonly ForeignCall[];
  readonly end: number;
}

/**
 * Reads `add(a=1, b="x")`, `print(default_api.add(a=1))`, or a list of such calls. Each argument has a name, and a
 * literal of Python as its value. Undefined for any other text.
 */
export function readKeywordCall(text: string, start: number): KeywordCalls | undefined {
  const reader = new LiteralReader(text, start);
  const calls = reader.take('[') ? reader.list(']', () => reader.call()) : one(reader.printed());
  return calls === undefined || calls.length === 0 ? undefined : { calls, end: reader.index };
}

function one<T>(value: T | undefined): readonly T[] | undefined {
  return value === undefined ? undefined : [value];
}

const CALLEE = /\s{0,100}((?:[A-Za-z_]\w{0,100}\.){0,4}[A-Za-z_]\w{0,100})\(/uy;
const KEYWORD = /\s{0,100}([A-Za-z_]\w{0,100})\s{0,8}=(?!=)/uy;
const NUMBER = /[+-]?(?:\d[\d_]{0,30})?(?:\.\d{1,30})?(?:[eE][+-]?\d{1,3})?/uy;
const WORD = /[A-Za-z]+/uy;
const WORDS: Readonly<Record<string, unknown>> = {
  True: true,
  False: false,
  None: null,
  true: true,
  false: false,
  null: null,
};
const MAX_DEPTH = 32;
const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  '\n': '',
};

class LiteralReader {
  index: number;
  readonly #text: string;
  #depth = 0;

  constructor(text: string, start: number) {
    this.#text = text;
    this.index = start;
  }

  take(character: string): boolean {
    this.#skipSpace();
    if (!this.#text.startsWith(character, this.index)) return false;
    this.index += character.length;
    return true;
  }

  list<T>(closing: string, read: () => T | undefined): T[] | undefined {
    const items: T[] = [];
    while (!this.take(closing)) {
      const item = items.length === 0 || this.take(',') ? (this.take(closing) ? 'end' : read()) : undefined;
      if (item === 'end') return items;
      if (item === undefined) return undefined;
      items.push(item);
    }
    return items;
  }

  printed(): ForeignCall | undefined {
    const start = this.index;
    if (this.take('print(')) {
      const call = this.call();
      if (call !== undefined && this.take(')')) return call;
      this.index = start;
    }
    return this.call();
  }

  call(): ForeignCall | undefined {
    const name = this.#match(CALLEE)?.[1];
    if (name === undefined) return undefined;
    const pairs = this.list(')', () => this.#keyword());
    return pairs === undefined ? undefined : { name, args: Object.fromEntries(pairs) };
  }

  #keyword(): readonly [string, unknown] | undefined {
    const name = this.#match(KEYWORD)?.[1];
    const value = name === undefined ? undefined : this.#value();
    return name === undefined || value === undefined ? undefined : [name, value.value];
  }

  #value(): { readonly value: unknown } | undefined {
    if (this.#depth >= MAX_DEPTH) return undefined;
    this.#depth += 1;
    const value = this.#plainValue();
    this.#depth -= 1;
    return value;
  }

  #plainValue(): { readonly value: unknown } | undefined {
    this.#skipSpace();
    const character = this.#text.charAt(this.index);
    if (character === '"' || character === "'") return this.#string(character);
    if (this.take('['))
      return boxed(
        this.list(']', () => this.#value()),
        (items) => items.map(({ value }) => value),
      );
    if (this.take('{'))
      return boxed(
        this.list('}', () => this.#entry()),
        Object.fromEntries,
      );
    const word = this.#match(WORD)?.[0];
    if (word !== undefined) return Object.hasOwn(WORDS, word) ? { value: WORDS[word] } : undefined;
    const digits = this.#match(NUMBER)?.[0] ?? '';
    const number = Number(digits.replaceAll('_', ''));
    return digits === '' || Number.isNaN(number) ? undefined : { value: number };
  }

  #entry(): readonly [string, unknown] | undefined {
    this.#skipSpace();
    const quote = this.#text.charAt(this.index);
    const key = quote === '"' || quote === "'" ? this.#string(quote) : undefined;
    const value = key !== undefined && this.take(':') ? this.#value() : undefined;
    return key === undefined || value === undefined ? undefined : [String(key.value), value.value];
  }

  #string(quote: string): { readonly value: string } | undefined {
    const mark = this.#text.startsWith(quote.repeat(3), this.index) ? quote.repeat(3) : quote;
    let value = '';
    for (let index = this.index + mark.length; index < this.#text.length; index += 1) {
      if (this.#text.startsWith(mark, index)) {
        this.index = index + mark.length;
        return { value };
      }
      const character = this.#text.charAt(index);
      if (character === '\n' && mark.length === 1) return undefined;
      if (character === '\\') {
        index += 1;
        const escaped = this.#text.charAt(index);
        value += ESCAPES[escaped] ?? escaped;
      } else value += character;
    }
    return undefined;
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.index;
    const match = pattern.exec(this.#text) ?? undefined;
    if (match !== undefined) this.index += match[0].length;
    return match;
  }

  #skipSpace(): void {
    while (/\s/u.test(this.#text.charAt(this.index))) this.index += 1;
  }
}

function boxed<T>(items: T[] | undefined, value: (items: T[]) => unknown): { readonly value: unknown } | undefined {
  return items === undefined ? undefined : { value: value(items) };
}
