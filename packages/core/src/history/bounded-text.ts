import { MAX_JSON_DEPTH } from '../protocol/index.js';

/**
 * The number of quarters in a token. Estimates without a tokenizer count quarters: an ASCII character is one quarter,
 * and any other UTF-16 unit is a whole token, which is more than tokenizers count for most languages.
 */
export const QUARTERS_PER_TOKEN = 4;

export function textQuarters(text: string): number {
  let quarters = 0;
  for (let index = 0; index < text.length; index += 1) quarters += unitCost(text.charCodeAt(index));
  return quarters;
}

/** Estimates the tokens of a text. For text other than ASCII, the estimate is usually too high. */
export function estimateTokens(text: string): number {
  return Math.ceil(textQuarters(text) / QUARTERS_PER_TOKEN);
}

/**
 * The text within the budget: unchanged, or its head and tail with a note about the omitted middle. A small budget has
 * room for the head only.
 */
export function cutMiddle(text: string, quarters: number): string {
  const whole = headEnd(text, quarters);
  if (whole === text.length) return text;
  const room = quarters - cutMark(text.length).length;
  if (room < MIN_ROOM_AROUND_CUT) return text.slice(0, whole);
  const head = text.slice(0, headEnd(text, Math.ceil(room * 0.6)));
  const tail = text.slice(tailStart(text, Math.floor(room * 0.4)));
  return `${head}${cutMark(text.length - head.length - tail.length)}${tail}`;
}

/** Applies `cutMiddle` with a budget in tokens. */
export function cutToTokens(text: string, tokens: number): string {
  return cutMiddle(text, Math.floor(tokens * QUARTERS_PER_TOKEN));
}

/**
 * Shares a budget by weight. A claim that costs less than its share leaves the rest to the other claims. Costs and
 * shares use the same unit; the shares never exceed the budget.
 */
export function shareBudget(claims: readonly { cost: number; weight: number }[], budget: number): number[] {
  const shares = claims.map(() => 0);
  let open = claims.map((_, index) => index);
  let room = Math.max(0, budget);
  while (open.length > 0) {
    const weights = sum(open.map((index) => claims[index]!.weight));
    const fair = (index: number): number => Math.floor((room * claims[index]!.weight) / weights);
    const satisfied = open.filter((index) => claims[index]!.cost <= fair(index));
    if (satisfied.length === 0) {
      for (const index of open) shares[index] = fair(index);
      break;
    }
    for (const index of satisfied) shares[index] = claims[index]!.cost;
    room -= sum(satisfied.map((index) => claims[index]!.cost));
    open = open.filter((index) => !satisfied.includes(index));
  }
  return shares;
}

/** In quarters of a token. In less room, one longer head is more useful than a head and a tail. */
const MIN_ROOM_AROUND_CUT = 40;

function cutMark(characters: number): string {
  return `\n[... ${characters} characters left out ...]\n`;
}

function unitCost(unit: number): number {
  return unit < 0x80 ? 1 : QUARTERS_PER_TOKEN;
}

function headEnd(text: string, quarters: number): number {
  let room = quarters;
  let end = 0;
  while (end < text.length) {
    room -= unitCost(text.charCodeAt(end));
    if (room < 0) break;
    end += 1;
  }
  return splitsPair(text, end) ? end - 1 : end;
}

function tailStart(text: string, quarters: number): number {
  let room = quarters;
  let start = text.length;
  while (start > 0) {
    room -= unitCost(text.charCodeAt(start - 1));
    if (room < 0) break;
    start -= 1;
  }
  return splitsPair(text, start) ? start + 1 : start;
}

function splitsPair(text: string, index: number): boolean {
  if (index === 0 || index >= text.length) return false;
  return isBetween(text.charCodeAt(index - 1), 0xd800, 0xdbff) && isBetween(text.charCodeAt(index), 0xdc00, 0xdfff);
}

function isBetween(unit: number, lowest: number, highest: number): boolean {
  return unit >= lowest && unit <= highest;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

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
  return { text: writer.text.slice(0, maxLength), complete: !writer.hasOverflowed };
}

/** JSON on one line; an ellipsis marks truncation. */
export function shortJson(value: unknown, maxLength: number): string {
  const { text, complete } = boundedJson(value, maxLength);
  return complete ? text : `${text}...`;
}

/** The text on one line, so that it cannot imitate another row of a list. An ellipsis marks truncation. */
export function oneLine(text: string, maxLength: number): string {
  const line = text
    .slice(0, maxLength * 2)
    .replace(/\s+/gu, ' ')
    .trim();
  return line.length <= maxLength && text.length <= maxLength * 2 ? line : `${line.slice(0, maxLength)}...`;
}

class BoundedWriter {
  text = '';
  hasOverflowed = false;
  readonly #maxLength: number;

  constructor(maxLength: number) {
    this.#maxLength = maxLength;
  }

  value(value: unknown, depth: number): void {
    if (depth > MAX_JSON_DEPTH) this.hasOverflowed = true;
    if (this.hasOverflowed) return;
    if (typeof value === 'string') this.#string(value);
    else if (Array.isArray(value)) this.#array(value, depth);
    else if (typeof value === 'object' && value !== null) this.#object(value as Record<string, unknown>, depth);
    else if (typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value)))
      this.#add(String(value));
    else this.#add('null');
  }

  #add(text: string): void {
    this.text += text;
    if (this.text.length > this.#maxLength) this.hasOverflowed = true;
  }

  #string(value: string): void {
    // A longer string overflows anyway, so the rest of it need not be escaped.
    this.#add(JSON.stringify(value.slice(0, this.#maxLength + 1)));
  }

  #array(values: readonly unknown[], depth: number): void {
    this.#add('[');
    for (let index = 0; index < values.length && !this.hasOverflowed; index += 1) {
      if (index > 0) this.#add(',');
      this.value(values[index], depth + 1);
    }
    this.#add(']');
  }

  #object(members: Record<string, unknown>, depth: number): void {
    this.#add('{');
    let first = true;
    for (const key in members) {
      if (this.hasOverflowed) break;
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
