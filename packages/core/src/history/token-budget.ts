/**
 * An estimate of tokens without a tokenizer, in quarters of a token: a character of ASCII is one quarter,
 * any other UTF-16 unit a whole token, which is more than tokenizers take for most languages.
 */
export const QUARTERS_PER_TOKEN = 4;

export function quartersOf(text: string): number {
  let quarters = 0;
  for (let index = 0; index < text.length; index += 1) quarters += unitCost(text.charCodeAt(index));
  return quarters;
}

/** Estimates the tokens of a text, too high rather than too low except for ASCII. */
export function estimateTokens(text: string): number {
  return Math.ceil(quartersOf(text) / QUARTERS_PER_TOKEN);
}

/** The text within the budget: unchanged, or its head and tail with a note about the omitted middle. */
export function cutMiddle(text: string, quarters: number): string {
  const whole = headEnd(text, quarters);
  if (whole === text.length) return text;
  const room = quarters - cutMark(text.length).length;
  if (room < MIN_ROOM_AROUND_CUT) return text.slice(0, whole);
  const head = text.slice(0, headEnd(text, Math.ceil(room * 0.6)));
  const tail = text.slice(tailStart(text, Math.floor(room * 0.4)));
  return `${head}${cutMark(text.length - head.length - tail.length)}${tail}`;
}

/** `cutMiddle` with a budget in tokens. */
export function cutToTokens(text: string, tokens: number): string {
  return cutMiddle(text, Math.floor(tokens * QUARTERS_PER_TOKEN));
}

/**
 * Shares a budget by weight. A claim that costs less than its share leaves the rest to the others. Costs and shares use
 * the same unit; the shares never exceed the budget.
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

/** Below this size, one longer head is more useful than a head and a tail. */
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
