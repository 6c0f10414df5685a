import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { openWorld } from '../agent/running.js';
import { APIS } from '../providers/asking.js';
import { BETA_TYPES, requestChecks, sdkSchemas } from '../providers/request-schemas.js';
import { conversation, streamsOf, travel } from './conversations.js';
import { FAMILIES } from './families.js';
import { OPTIONS, requestsWith } from './options.js';
import { replay } from './streams.js';

/*
 * The wind tunnel in its long form: also with the recorded streams, where they are (TOOLSCRIPT_STREAM_FIXTURES), and
 * with the schemas of the newest SDKs.
 */

const shapes = requestChecks(sdkSchemas(), BETA_TYPES);

describe.each(APIS)('streams of %s', (api) => {
  test('are answers of each family in turn, and no family refuses the next request', async () => {
    const world = openWorld();
    const families = FAMILIES.filter((one) => one.api === api);
    const streams = streamsOf(api);
    const refusals: string[] = [];
    let requests = 0;
    for (const [index, stream] of streams.entries()) {
      const found = await replay(families[index % families.length]!, stream, { world, shapes });
      requests += found.requests;
      refusals.push(...found.refusals.map((refusal) => `stream ${index}: ${refusal.slice(0, 500)}`));
    }
    console.log(`${api}: ${streams.length} streams, ${requests} requests, ${refusals.length} refusals`);
    expect(refusals).toEqual([]);
  });
});

test('every option of an agent, a run and a provider is legal for each family', async () => {
  const refusals: string[] = [];
  let requests = 0;
  for (const family of FAMILIES) {
    for (const [name, option] of Object.entries(OPTIONS)) {
      const found = await requestsWith(family, option, shapes);
      requests += found.requests;
      refusals.push(...found.refusals.map((refusal) => `${name}: ${refusal.slice(0, 500)}`));
    }
  }
  console.log(`${Object.keys(OPTIONS).length} options: ${requests} requests, ${refusals.length} refusals`);
  expect(refusals).toEqual([]);
});

test('no request of 200 random conversations is refused, and they cover what can happen', async () => {
  const happened = new Map<string, number>();
  let requests = 0;
  await fc.assert(
    fc.asyncProperty(conversation, async (drawn) => {
      const journey = await travel(drawn, shapes);
      expect(journey.refusals.map((refusal) => refusal.slice(0, 1000))).toEqual([]);
      requests += journey.requests;
      for (const what of journey.happened) happened.set(what, (happened.get(what) ?? 0) + 1);
    }),
    { numRuns: 200, seed: 36 },
  );
  console.log(`${requests} requests: ${[...happened].map(([what, count]) => `${what} ${count}`).join(', ')}`);
  const seldom = ['new tool', 'new instructions', 'switch', 'interrupted', 'cut', 'compaction', 'code of the provider'];
  expect(seldom.filter((what) => (happened.get(what) ?? 0) === 0)).toEqual([]);
});
