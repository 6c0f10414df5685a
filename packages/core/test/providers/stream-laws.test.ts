import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { foldResponse } from '#core/history/index.js';
import type { StreamEvent } from '#core/protocol/index.js';
import type { ProviderApi } from '#core/providers/index.js';
import { ALL_CASES, sampleCases, tries } from '@toolscript/testkit/some-cases';
import { brokenLaws, doneOf, eventsOf } from './decoded.js';
import { OWN_STREAMS } from './own-streams.js';
import { readingOf } from './reading.js';
import { haveRecordings, recordings } from './recordings.js';
import type { Reading } from './sdk-oracle.js';
import { bodyOf, cutAt, inPieces, messagesOf, piecesOf, type WireMessage } from './wire-text.js';

const APIS = Object.keys(OWN_STREAMS) as ProviderApi[];

type Sample = readonly [name: string, body: Buffer];

const own = (api: ProviderApi): Sample[] =>
  Object.entries(OWN_STREAMS[api]).map(([name, body]) => [name, Buffer.from(body)]);

const recorded = (api: ProviderApi): Sample[] =>
  sampleCases(recordings(api, 'stream'), 3).map(({ name, body }) => [name, body]);

/** Data that readers must ignore: events that no version of the formats has, fields without meaning, and comments. */
const NOISE: readonly string[] = [
  ': a comment\n\n',
  ':\n\n',
  'retry: 3000\n\n',
  'id: 7\nunknown: field\n\n',
  'event: brand_new\ndata: {"type":"brand_new","index":0,"output_index":0,"delta":"nothing"}\n\n',
  'data: {"type":"response.brand_new.delta","object":"brand.new","delta":{"type":"brand_new_delta"}}\n\n',
  'event: ping\ndata: {"type":"ping"}\n\n',
  'data:\n\n',
];

/** The events without the member that differs between two readings of the same stream: the time of the reading. */
function said(events: readonly StreamEvent[]): unknown[] {
  return events.map(({ timestamp: _now, ...event }) => event);
}

async function saidBy(api: ProviderApi, pieces: Iterable<string | Uint8Array>): Promise<unknown[]> {
  return said(await eventsOf(api, piecesOf(pieces)));
}

/** The number of tries of a law for one sample, which is small if there are many samples. */
const runs = (samples: readonly Sample[]) => ({ numRuns: samples.length > 10 ? 1 : 100 });

/** Longer recordings are not read byte by byte: that takes most of the time, and finds no other faults. */
const LONG_BYTES = 20_000;

function laws(api: ProviderApi, samples: readonly Sample[]): void {
  test.each(samples)('%s: bytes that are split anywhere give the same answer', async (_, body) => {
    const whole = said(await eventsOf(api, body));
    expect(whole.length).toBeGreaterThan(3);
    const places = fc.array(fc.nat(), { maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(places, async (cuts) => {
        expect(await saidBy(api, cutAt(body, cuts))).toEqual(whole);
      }),
      runs(samples),
    );
  });

  test.each(samples)('%s: a byte or a few at a time, and text, give the same answer', async (_, body) => {
    const whole = said(await eventsOf(api, body));
    const step = body.length > LONG_BYTES ? 13 : 1;
    expect(
      await saidBy(
        api,
        cutAt(
          body,
          [...body.keys()].filter((place) => place % step === 0),
        ),
      ),
    ).toEqual(whole);
    expect(said(await eventsOf(api, body.toString()))).toEqual(whole);
  });

  test.each(samples)('%s: other line ends, a byte order mark and no last line end change nothing', async (_, body) => {
    const whole = said(await eventsOf(api, body));
    const messages = messagesOf(body.toString());
    for (const lineEnd of ['\n', '\r\n', '\r']) {
      const dressed = bodyOf(messages, lineEnd);
      expect(said(await eventsOf(api, `\ufeff${dressed}`))).toEqual(whole);
      expect(await saidBy(api, inPieces(dressed, samples.length > 10 ? 61 : 1))).toEqual(whole);
      expect(said(await eventsOf(api, dressed.trimEnd()))).toEqual(whole);
    }
  });

  test.each(samples)('%s: comments and unknown events in between change nothing', async (_, body) => {
    const whole = said(await eventsOf(api, body));
    const messages = messagesOf(body.toString());
    const noise = fc.array(fc.tuple(fc.nat(messages.length - 1), fc.constantFrom(...NOISE)), { maxLength: 10 });
    await fc.assert(
      fc.asyncProperty(noise, async (pieces) => {
        expect(said(await eventsOf(api, withNoise(messages, pieces)))).toEqual(whole);
      }),
      runs(samples),
    );
  });

  test.each(samples)('%s: a body truncated at an event is complete or reported as truncated', async (name, body) => {
    const whole = wholeOf(api, await eventsOf(api, body));
    const messages = messagesOf(body.toString());
    let cut = 0;
    for (const length of placesOf(messages.length)) {
      cut += checkCut(whole, await eventsOf(api, bodyOf(messages.slice(0, length))), name);
    }
    expect(cut).toBeGreaterThan(0);
  });

  test.each(samples)('%s: a body truncated at a byte is complete or reported as truncated', async (name, body) => {
    const whole = wholeOf(api, await eventsOf(api, body));
    await fc.assert(
      fc.asyncProperty(fc.nat(body.length), async (length) => {
        checkCut(whole, await eventsOf(api, body.subarray(0, length)), name);
      }),
      { numRuns: samples.length > 10 ? 4 : 300 },
    );
  });
}

/**
 * Every event of a short answer; the first, the last and some other events of a longer one, because the cost is
 * quadratic.
 */
function placesOf(events: number): number[] {
  const ends = ALL_CASES ? 200 : tries(80, 40);
  const step = Math.max(16, Math.ceil(events / ends));
  const all = [...Array(events).keys()];
  return events <= 3.5 * ends
    ? all
    : all.filter((place) => place < ends || place % step === 0 || place >= events - ends);
}

function withNoise(messages: readonly WireMessage[], noise: readonly (readonly [number, string])[]): string {
  return messages
    .map((message, index) => {
      const before = noise.filter(([place]) => place === index).map(([, text]) => text);
      return before.join('') + bodyOf([message]);
    })
    .join('');
}

/** The reference for the cuts of an answer. */
interface Whole {
  readonly api: ProviderApi;
  readonly status: string;
  readonly reading: Reading;
  readonly finished: ReadonlySet<string>;
}

function wholeOf(api: ProviderApi, events: readonly StreamEvent[]): Whole {
  expect(brokenLaws(events)).toEqual([]);
  const response = foldResponse(events);
  return {
    api,
    status: response.status,
    reading: readingOf(api, events, response),
    finished: new Set(finishedItems(events)),
  };
}

/** The errors of a truncated body: a part of a line is not a stream yet. */
const CUT = ['AnswerTruncated', 'AnswerMalformed'];

/** Recordings that continue after a `finish_reason`. A reader cannot detect an interruption after it. */
const GOES_ON_AFTER_STOP: Readonly<Record<string, string>> = {
  '63a3f09bc0218a96': 'Together: each of several calls comes with a finish_reason',
  baafd4cb5cec28b1: 'OpenRouter: every chunk says "length", and then comes an error',
};

/** 1 if the reading reports an interruption, 0 if only figures of usage were lost. */
function checkCut(whole: Whole, part: readonly StreamEvent[], name: string): number {
  // The whole body checks the part before the last events.
  expect(brokenLaws(part, part.length - 20)).toEqual([]);
  const response = foldResponse(part);
  const { status, error } = response;
  const { usage: _lost, ...kept } = readingOf(whole.api, part, response);
  if (error !== undefined && CUT.includes(error.code)) {
    expect(whole.reading.text.startsWith(kept.text)).toBe(true);
    expect(finishedItems(part).filter((item) => !whole.finished.has(item))).toEqual([]);
    expect(doneOf(part)).toMatchObject({ type: 'response_done', status: 'failed' });
    return 1;
  }
  if (Object.hasOwn(GOES_ON_AFTER_STOP, name)) return 0;
  const { usage: _figures, ...all } = whole.reading;
  expect(status).toBe(whole.status);
  expect(kept).toEqual(all);
  return 0;
}

function finishedItems(events: readonly StreamEvent[]): string[] {
  return events.flatMap(({ payload }) => (payload.type === 'item_done' ? [JSON.stringify(payload.final_item)] : []));
}

describe.each(APIS)('our own streams in %s', (api) => laws(api, own(api)));

describe.skipIf(!haveRecordings).each(APIS)('recorded streams of %s', (api) => laws(api, recorded(api)));

describe.each(APIS)('any other input instead of %s', (api) => {
  const samples = [...own(api), ...recorded(api)].map(([, body]) => messagesOf(body.toString()));

  test('an answer with any member changed breaks no law', async () => {
    const change = fc.tuple(fc.constantFrom(...samples), fc.nat(), fc.nat(), fc.option(fc.jsonValue({ maxDepth: 3 })));
    await fc.assert(
      fc.asyncProperty(change, async ([messages, which, place, value]) => {
        const index = which % messages.length;
        const changed = messages.with(index, changeMember(messages[index]!, place, value));
        expect(brokenLaws(await eventsOf(api, bodyOf(changed)))).toEqual([]);
      }),
      { numRuns: tries(800) },
    );
  });

  test('an answer with events missing, doubled and in another order breaks no law', async () => {
    const order = fc.tuple(fc.constantFrom(...samples), fc.array(fc.nat(), { maxLength: 60 }));
    await fc.assert(
      fc.asyncProperty(order, async ([messages, picks]) => {
        const changed = picks.map((pick) => messages[pick % messages.length]!);
        expect(brokenLaws(await eventsOf(api, bodyOf(changed)))).toEqual([]);
      }),
      { numRuns: tries(1000) },
    );
  });

  test('any JSON, any text and any bytes break no law, and are not an answer', async () => {
    const body = fc.oneof(
      fc.json(),
      fc.string({ unit: 'binary' }),
      fc.uint8Array({ maxLength: 300 }),
      fc.array(fc.json()).map((values) => values.map((value) => `data: ${value}\n\n`).join('')),
      fc.constantFrom(
        '',
        '\n',
        '{',
        '[]',
        'null',
        '{"error":null}',
        '<html>502 Bad Gateway</html>',
        'data: [DONE]\n\n',
      ),
    );
    await fc.assert(
      fc.asyncProperty(body, async (value) => {
        const events = await eventsOf(api, value);
        expect(brokenLaws(events)).toEqual([]);
        expect(foldResponse(events)).toMatchObject({ status: 'failed', output_items: [] });
      }),
      { numRuns: tries(1000) },
    );
  });

  test('JSON that is nested without end breaks no law', async () => {
    const deep = `${'{"error":'.repeat(50_000)}1${'}'.repeat(50_000)}`;
    for (const body of [deep, `data: ${deep}\n\n`, `[${deep}]`]) {
      expect(brokenLaws(await eventsOf(api, body)).slice(0, 1)).toEqual([]);
    }
  });
});

function changeMember({ name, data }: WireMessage, place: number, value: unknown): WireMessage {
  if (data === '[DONE]') return { name, data: JSON.stringify(value) };
  let left = place % Math.max(1, countMembers(JSON.parse(data)));
  const changed: unknown = JSON.parse(data, (_key, before: unknown) => (left-- === 0 ? (value ?? undefined) : before));
  return { name, data: JSON.stringify(changed) ?? 'null' };
}

function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce<number>((total, member) => total + countMembers(member), 1);
}
