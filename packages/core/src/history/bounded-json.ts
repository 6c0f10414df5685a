import { MAX_JSON_DEPTH } from '../protocol/index.js';

export interface BoundedJson {
  /** JSON text, possibly truncated. */
  readonly text: string;
  /** False if the text of the value is longer than the maximum or nested too deeply. */
  readonly complete: boolean;
}

/**
 * The JSON text of plain data, up to `maxLength` UTF-16 units. The cost is bounded by `maxLength`, not by the size of
 * the value. Never throws.
 */
export function boundedJson(value: unknown, maxLength: number): BoundedJson {
  const writer = new BoundedWriter(maxLength);
  writer.value(value, 0);
  return { text: writer.text.slice(0, maxLength), complete: !writer.overflowed };
}

class BoundedWriter {
  text = '';
  overflowed = false;
  readonly #maxLength: number;

  constructor(maxLength: number) {
    this.#maxLength = maxLength;
  }

  value(value: unknown, depth: number): void {
    if (depth > MAX_JSON_DEPTH) this.overflowed = true;
    if (this.overflowed) return;
    if (typeof value === 'string') this.#string(value);
    else if (Array.isArray(value)) this.#array(value, depth);
    else if (typeof value === 'object' && value !== null) this.#object(value as Record<string, unknown>, depth);
    else if (typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value)))
      this.#add(String(value));
    else this.#add('null');
  }

  #add(text: string): void {
    this.text += text;
    if (this.text.length > this.#maxLength) this.overflowed = true;
  }

  #string(value: string): void {
    // A longer string overflows anyway, so the rest of it need not be escaped.
    this.#add(JSON.stringify(value.slice(0, this.#maxLength + 1)));
  }

  #array(values: readonly unknown[], depth: number): void {
    this.#add('[');
    for (let index = 0; index < values.length && !this.overflowed; index += 1) {
      if (index > 0) this.#add(',');
      this.value(values[index], depth + 1);
    }
    this.#add(']');
  }

  #object(members: Record<string, unknown>, depth: number): void {
    this.#add('{');
    let first = true;
    for (const key in members) {
      if (this.overflowed) break;
      if (!Object.hasOwn(members, key) || members[key] === undefined) continue;
      if (!first) this.#add(',');
      first = false;
      this.#string(key);
      this.#add(':');
      this.value(members[key], depth + 1);
    }
    this.#add('}');
  }
}
