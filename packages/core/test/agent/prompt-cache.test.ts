import { describe, expect, it } from 'vitest';
import type { AgentInput } from '#core/agent/index.js';
import type { ProviderApi } from '#core/providers/index.js';
import { APIS, openScene, openWorld, play } from './running.js';

/*
 * The part of the input that a service reads from its cache, by the documented rules (read on 2026-11-28). A prefix of
 * fewer than 1024 tokens is not cached.
 * - Anthropic (https://platform.claude.com/docs/en/build-with-claude/prompt-caching): a request writes the prefix up to
 *   each of its marks. It reads the longest written prefix that ends at a mark, or at most 20 blocks before one.
 * - OpenAI, from GPT-5.6 on (https://developers.openai.com/api/docs/guides/prompt-caching): a request writes the prefix
 *   up to its last message, and reads the longest one that a request with the same `prompt_cache_key` wrote.
 */

const LEAST = 1024;
const LOOKBACK = 20;

type Body = Record<string, unknown> & { readonly prompt_cache_key?: string };

const listed = (value: unknown): unknown[] => (Array.isArray(value) ? value : value === undefined ? [] : [value]);

/** The parts of the input in the order in which the service reads them. */
function partsOf(api: ProviderApi, body: Body): unknown[] {
  if (api === 'openai-responses') return [body.tools, body.instructions, ...listed(body.input)];
  if (api === 'openai-chat') return [body.tools, ...listed(body.messages)];
  const messages = listed(body.messages) as { role: string; content: unknown }[];
  return [...listed(body.tools), ...listed(body.system), ...messages.flatMap(({ content }) => listed(content))];
}

const withoutMark = (part: unknown): string =>
  JSON.stringify(part, (name, value: unknown) => (name === 'cache_control' ? undefined : value)) ?? '';

const isMarked = (part: unknown): boolean => typeof part === 'object' && part !== null && 'cache_control' in part;

class ServiceCache {
  readonly #written = new Set<string>();
  readonly #api: ProviderApi;
  input = 0;
  cached = 0;

  constructor(api: ProviderApi) {
    this.#api = api;
  }

  take(body: Body): void {
    const parts = partsOf(this.#api, body);
    const texts = parts.map(withoutMark);
    const prefix = (end: number) => `${body.prompt_cache_key}\n${texts.slice(0, end + 1).join('\n')}`;
    const tokens = (end: number) => texts.slice(0, end + 1).join('').length / 4;
    const last = parts.length - 1;
    const marks = parts.flatMap((part, index) => (isMarked(part) ? [index] : []));
    const writes = this.#api === 'anthropic-messages' ? marks : [last];
    const isReadable = (end: number): boolean =>
      this.#api !== 'anthropic-messages' || marks.some((mark) => end <= mark && end >= mark - LOOKBACK);
    const hit = texts.findLastIndex((_text, end) => isReadable(end) && this.#written.has(prefix(end)));
    this.input += tokens(last);
    if (hit !== -1) this.cached += tokens(hit);
    for (const end of writes) if (tokens(end) >= LEAST) this.#written.add(prefix(end));
  }

  get share(): number {
    return this.cached / this.input;
  }
}

const REQUESTS = 20;

/** About as long as the instructions of a project. */
const INSTRUCTIONS = 'Keep the files tidy. '.repeat(400);

async function bodiesOfThread(api: ProviderApi, agent: Partial<AgentInput> = {}): Promise<Body[]> {
  const scripts = Array.from({ length: REQUESTS - 1 }, (_, index) => ({
    parts: [
      { type: 'reasoning' as const, text: 'A sum.' },
      { type: 'script' as const, code: `return await tools.add({ a: ${index}, b: 1 });` },
    ],
  }));
  const scene = await openScene(api, [...scripts, { parts: [{ type: 'text', text: 'Done.' }] }]);
  await play(openWorld(), scene, { maxTurns: REQUESTS, instructions: INSTRUCTIONS, ...agent });
  expect(scene.server.violations).toEqual([]);
  expect(scene.server.requests).toHaveLength(REQUESTS);
  return scene.server.requests as Body[];
}

function shareOf(api: ProviderApi, bodies: readonly Body[]): number {
  const cache = new ServiceCache(api);
  for (const body of bodies) cache.take(body);
  return cache.share;
}

describe.each(APIS)('a thread of 20 requests (%s)', (api) => {
  it('reads at least 90 % of its input from the cache of the service', async () => {
    expect(shareOf(api, await bodiesOfThread(api))).toBeGreaterThanOrEqual(0.9);
  });

  it('shares the key of its beginning with all threads of its agent, and with no other agent', async () => {
    const key = ([body]: readonly Body[]) => body!.prompt_cache_key;
    const [one, same, other] = [
      await bodiesOfThread(api),
      await bodiesOfThread(api),
      await bodiesOfThread(api, { instructions: 'Be brief.' }),
    ];
    expect(new Set(one.map((body) => body.prompt_cache_key)).size).toBe(1);
    expect(key(same)).toBe(key(one));
    if (api === 'anthropic-messages') return;
    expect(key(one)).toMatch(/^[\w-]{16,64}$/u);
    expect(key(other)).not.toBe(key(one));
  });

  it('pays for its whole input if the beginning changes or nothing marks it', async () => {
    const bodies = await bodiesOfThread(api);
    const changing = bodies.map((body, index) => ({ ...body, tools: [{ name: `t${index}` }] }));
    expect(shareOf(api, changing)).toBe(0);
    const unmarked = bodies.map((body) => JSON.parse(withoutMark(body)) as Body);
    if (api === 'anthropic-messages') expect(shareOf(api, unmarked)).toBe(0);
  });
});

it('a new thread of Anthropic reads the beginning that another thread has written', async () => {
  const cache = new ServiceCache('anthropic-messages');
  cache.take((await bodiesOfThread('anthropic-messages'))[0]!);
  expect(cache.cached).toBe(0);
  cache.take((await bodiesOfThread('anthropic-messages'))[0]!);
  expect(cache.cached).toBeGreaterThanOrEqual(LEAST);
});
