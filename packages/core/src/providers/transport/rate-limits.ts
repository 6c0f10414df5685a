/** A limit and its remaining amount, from the headers of a response. */
export interface RateLimit {
  /** The counted thing: `requests`, `tokens`, `input-tokens`, … */
  readonly name: string;
  readonly limit?: number;
  readonly remaining?: number;
  /** The time at which the limit is full again, as the provider writes it: a date, or a duration such as `6m0s`. */
  readonly reset?: string;
}

const OPENAI_HEADER = /^x-ratelimit-(?<what>limit|remaining|reset)-(?<name>[a-z-]+)$/u;
const ANTHROPIC_HEADER = /^anthropic-ratelimit-(?<name>[a-z-]+)-(?<what>limit|remaining|reset)$/u;

/** The limits in the headers of OpenAI, Anthropic and servers like them, by name; empty if there are none. */
export function rateLimitsOf(headers: Headers): RateLimit[] {
  const limits = new Map<string, Record<string, string | number>>();
  for (const [header, value] of headers) {
    const { name, what } = (OPENAI_HEADER.exec(header) ?? ANTHROPIC_HEADER.exec(header))?.groups ?? {};
    if (name === undefined || what === undefined || (what !== 'reset' && !/^\d+$/u.test(value))) continue;
    const limit = limits.get(name) ?? {};
    limits.set(name, { ...limit, [what]: what === 'reset' ? value : Number(value) });
  }
  return [...limits].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([name, limit]) => ({ name, ...limit }));
}
