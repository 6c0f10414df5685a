import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ProviderApi } from '#core/providers/index.js';
import { tries } from '@toolscript/testkit/some-cases';
import { openWorld } from '../agent/running.js';
import { APIS } from '../providers/asking.js';
import { brokenLaws, doneOf, eventsOf } from '../providers/decoded.js';
import { readingOf } from '../providers/reading.js';
import { BETA_TYPES, requestChecks, sdkSchemas } from '../providers/request-schemas.js';
import { bodyOf, messagesOf } from '../providers/wire-text.js';
import { OWN_STREAMS } from '../providers/own-streams.js';
import { recordings } from '../providers/recordings.js';
import { wholeWithSdk } from '../providers/sdk-oracle.js';
import { streamsOf } from './conversations.js';
import { FAMILIES } from './families.js';
import { replay } from './streams.js';

/* Streams that were cut, that lost a part, or that continue as another stream, as answers to an agent. */

const shapes = requestChecks(sdkSchemas(), BETA_TYPES);

const place = fc.noBias(fc.nat({ max: 999_999 })).map((parts) => parts / 1_000_000);
const damage = fc.record({
  what: fc.constantFrom('cut', 'splice', 'loss'),
  inside: fc.boolean(),
  from: place,
  to: place,
  first: fc.nat(),
  second: fc.nat(),
  family: fc.nat(),
});
type Damage = typeof damage extends fc.Arbitrary<infer Value> ? Value : never;

function damaged(streams: readonly (string | Buffer)[], { what, inside, from, to, first, second }: Damage) {
  const [one, two] = [first, what === 'splice' ? second : first].map((index) =>
    Buffer.from(streams[index % streams.length]!),
  );
  const part = (body: Buffer, at: number, isStart: boolean): Buffer => {
    const messages = messagesOf(body.toString());
    const [end, cut] = inside ? [body.length, body] : [messages.length, messages];
    const index = Math.floor(at * end);
    const left = isStart ? cut.slice(0, index) : cut.slice(index);
    return Buffer.from(inside ? (left as Buffer) : bodyOf(left as typeof messages));
  };
  const rest = what === 'cut' ? Buffer.alloc(0) : part(two!, to, false);
  return { whole: one!, body: Buffer.concat([part(one!, from, true), rest]) };
}

/** A stream that was cut must not be taken for a whole one, and holds nothing but what the whole one holds. */
async function checkCut(api: ProviderApi, whole: Buffer, body: Buffer): Promise<void> {
  const [before, after] = await Promise.all([eventsOf(api, whole), eventsOf(api, body)]);
  const status = doneOf(after).status;
  if (status !== 'completed') return;
  // In Chat, an answer ends with its reason; a server may send more after it.
  if (api === 'openai-chat' && /"finish_reason": ?"[^"]*"[^\n]*\n*$/u.test(body.toString())) return;
  const [all, some] = [readingOf(api, before), readingOf(api, after)];
  expect({ status, text: some.text, reasoning: some.reasoning, calls: some.calls }).toEqual({
    status: doneOf(before).status,
    text: all.text,
    reasoning: all.reasoning,
    calls: all.calls,
  });
}

type Json = Record<string, unknown>;

/** The list of items, blocks or choices of a whole answer. */
const LISTS = { 'openai-responses': 'output', 'openai-chat': 'choices', 'anthropic-messages': 'content' } as const;
const ENDS = { 'openai-responses': 'status', 'openai-chat': 'status', 'anthropic-messages': 'stop_reason' } as const;

const change = fc.record({
  what: fc.constantFrom('loses an item', 'repeats an item', 'swaps two items', 'has another end', 'has no end'),
  at: fc.nat(),
  answer: fc.nat(),
  family: fc.nat(),
});

/** Members that the SDKs add to what a service sends. */
const OF_SDK: readonly string[] = ['parsed', 'parsed_arguments', 'output_parsed', 'output_text'];

/** The streams as the SDKs put them together. */
async function wholeAnswers(api: ProviderApi): Promise<string[]> {
  const own = Object.entries(OWN_STREAMS[api]).map(([name, body]) => {
    return { api, kind: 'stream', name, status: 200, body: Buffer.from(body) } as const;
  });
  const read = await Promise.allSettled([...own, ...recordings(api, 'stream')].map(wholeWithSdk));
  return read.flatMap((one) => {
    if (one.status === 'rejected') return [];
    return [JSON.stringify(one.value, (key, value: unknown) => (OF_SDK.includes(key) ? undefined : value))];
  });
}

/** A whole answer of another server, or one that a proxy changed. */
function changed(api: ProviderApi, body: string, { what, at }: { readonly what: string; readonly at: number }): string {
  const answer = JSON.parse(body) as Json;
  const given = answer[LISTS[api]];
  const list = Array.isArray(given) ? (given as unknown[]) : [];
  const index = list.length === 0 ? 0 : at % list.length;
  const [one] = list.slice(index, index + 1);
  const lists: Readonly<Record<string, readonly unknown[]>> = {
    // A service may send the result of its own call after the results of the client, so a call is lost with its result.
    'loses an item': list.filter((item) => item !== one && (item as Json).id !== ((one ?? {}) as Json).tool_use_id),
    'repeats an item': list.toSpliced(index, 0, one),
    'swaps two items': [...list.toSpliced(index, 1), one],
  };
  const end = { 'has another end': 'expired', 'has no end': null }[what];
  const ends = end === undefined ? {} : { [ENDS[api]]: end };
  return JSON.stringify({ ...answer, ...ends, ...(list.length === 0 ? {} : { [LISTS[api]]: lists[what] ?? list }) });
}

describe.each(APIS)('damaged streams of %s', (api) => {
  test('obey the laws of every answer, and leave a thread that no family refuses', { timeout: 3_600_000 }, async () => {
    const world = openWorld();
    const streams = streamsOf(api);
    const families = FAMILIES.filter((one) => one.api === api);
    await fc.assert(
      fc.asyncProperty(damage, async (how) => {
        const { whole, body } = damaged(streams, how);
        expect(brokenLaws(await eventsOf(api, body))).toEqual([]);
        if (how.what === 'cut') await checkCut(api, whole, body);
        const { refusals } = await replay(families[how.family % families.length]!, body, { world, shapes });
        expect(refusals.map((refusal) => refusal.slice(0, 1000))).toEqual([]);
      }),
      { numRuns: Number(process.env.TOOLSCRIPT_FUZZ_RUNS) || tries(100) },
    );
  });

  test('as whole answers too', { timeout: 3_600_000 }, async () => {
    const whole = await wholeAnswers(api);
    expect(whole.length).toBeGreaterThan(1);
    const world = openWorld();
    const families = FAMILIES.filter((one) => one.api === api);
    await fc.assert(
      fc.asyncProperty(change, async (how) => {
        const body = changed(api, whole[how.answer % whole.length]!, how);
        expect(brokenLaws(await eventsOf(api, body))).toEqual([]);
        const { refusals } = await replay(families[how.family % families.length]!, body, { world, shapes });
        expect(refusals.map((refusal) => refusal.slice(0, 1000))).toEqual([]);
      }),
      { numRuns: Number(process.env.TOOLSCRIPT_FUZZ_RUNS) || tries(100) },
    );
  });
});
