import { describe, expect, it } from 'vitest';
import type { AgentInput } from '#core/agent/index.js';
import type { ProviderApi } from '#core/providers/index.js';
import { LEAST, ServiceCache, withoutMark } from '../../../../bench/agent/service-cache.mjs';
import { APIS, openScene, openWorld, play } from './running.js';

/* The rules of the services are in bench/agent/service-cache.mjs. */

type Body = Record<string, unknown> & { readonly prompt_cache_key?: string };

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
