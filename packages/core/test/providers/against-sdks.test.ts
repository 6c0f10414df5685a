import { describe, expect, test } from 'vitest';
import { foldResponse } from '#core/history/index.js';
import type { ProviderApi } from '#core/providers/index.js';
import { brokenLaws, eventsOf } from './decoded.js';
import { readingOf } from './reading.js';
import { haveRecordings, recordings, type Recording } from './recordings.js';
import { failWithSdk, readWithSdk, wholeWithSdk } from './sdk-oracle.js';
import { bodyOf, messagesOf } from './wire-text.js';

/** The minimum number of streams and errors, if there are any. */
const RECORDED: Readonly<Record<ProviderApi, readonly [streams: number, errors: number]>> = {
  'openai-responses': [55, 5],
  'openai-chat': [128, 9],
  'anthropic-messages': [57, 3],
};

interface Tolerance {
  /** The part of the recording that the SDK cannot read, and how Toolscript reads it. */
  readonly why: string;
  /** The SDK's error; omitted if the SDK only misses a part. */
  readonly throws?: RegExp;
  /** Changes a message so that the SDK reads it as Toolscript does; undefined drops the message. */
  readonly mend: (message: Json) => Json | undefined;
  /** True: the repaired stream has a stop reason that the recording does not have. */
  readonly mendsStop?: boolean;
}

type Json = Record<string, unknown>;

const missingRole: Omit<Tolerance, 'why'> = {
  throws: /missing role/u,
  mend: mendChoices(({ delta, ...choice }) => ({ ...choice, delta: { role: 'assistant', ...(delta as object) } })),
};

const missingFinishReason: Omit<Tolerance, 'why'> = {
  throws: /missing finish_reason/u,
  mend: mendChoices((choice) => ({ ...choice, finish_reason: 'stop' })),
  mendsStop: true,
};

/** The recordings that are read although the SDK rejects them or loses a part of them. */
const TOLERATED: Readonly<Record<string, Tolerance>> = {
  '62f21709f88728e1': {
    why: 'a ping inside Responses: ignored like every unknown event',
    throws: /Unhandled response stream event/u,
    mend: (message) => (message.type === 'ping' ? undefined : message),
  },
  '8aa14a899f0a9de2': {
    why: 'the final response lists no output: the items that the stream finished stand',
    mend: fillOutput(),
  },
  '2efb30c45761b960': {
    why: 'no finish_reason (Kimi by OpenRouter): [DONE] is an end too',
    ...missingFinishReason,
  },
  '72d88d0104133ef5': {
    why: 'no finish_reason (Kimi by OpenRouter): [DONE] is an end too',
    ...missingFinishReason,
  },
  '4406c182859b199a': {
    why: 'a chunk behind the usage says "usage": null, and the SDK forgets it: the last figures stand',
    mend: (message) => (message.moderation === undefined ? message : undefined),
  },
  b157c9e1aa76045a: {
    why: 'a call without index and type (Mistral): a call of its own',
    throws: /invalid tool call index/u,
    mend: mendChoices((choice) => {
      const { tool_calls, ...delta } = choice.delta as Json;
      if (!Array.isArray(tool_calls)) return choice;
      const calls = tool_calls.map((call: object, index) => ({ index, type: 'function', ...call }));
      return { ...choice, delta: { ...delta, tool_calls: calls } };
    }),
  },
  dea1a96497349343: { why: 'no role (Groq compound): an answer is the assistant’s', ...missingRole },
  f42c5266086b166b: { why: 'no role (Cloudflare): an answer is the assistant’s', ...missingRole },
};

/** The recordings in which the provider reports an error in its stream: the SDK throws it, Toolscript reports it. */
const ERRORS_IN_BAND: Readonly<Record<string, string>> = {
  '25e988586b4d1744': 'Groq: the call does not fit its schema',
  '952e74de7cb030fb': 'Groq: no tool was called',
  baafd4cb5cec28b1: 'OpenRouter: an error member beside the choices of the last chunk',
};

function mendChoices(mend: (choice: Json) => Json): (message: Json) => Json {
  return (message) => ({ ...message, choices: (message.choices as Json[]).map(mend) });
}

function fillOutput(): (message: Json) => Json {
  const items: unknown[] = [];
  return (message) => {
    if (message.type === 'response.output_item.done') items.push(message.item);
    if (message.type !== 'response.completed') return message;
    return { ...message, response: { ...(message.response as Json), output: items } };
  };
}

function mended(recording: Recording, { mend }: Tolerance): Recording {
  const messages = messagesOf(recording.body.toString()).flatMap(({ name, data }) => {
    if (data === '[DONE]') return [{ name, data }];
    const changed = mend(JSON.parse(data) as Json);
    return changed === undefined ? [] : [{ name, data: JSON.stringify(changed) }];
  });
  return { ...recording, body: Buffer.from(bodyOf(messages)) };
}

describe.skipIf(!haveRecordings).each(Object.keys(RECORDED) as ProviderApi[])('recordings of %s', (api) => {
  const streams = recordings(api, 'stream');
  const tolerated = streams.filter(({ name }) => Object.hasOwn(TOLERATED, name));
  const broken = streams.filter(({ name }) => Object.hasOwn(ERRORS_IN_BAND, name));
  const plain = streams.filter((recording) => !tolerated.includes(recording) && !broken.includes(recording));
  const errors = recordings(api, 'error');
  const named = (list: readonly Recording[]) => list.map((recording) => [recording.name, recording] as const);

  test('are all there', () => {
    const [leastStreams, leastErrors] = RECORDED[api];
    expect(streams.length).toBeGreaterThanOrEqual(leastStreams);
    expect(errors.length).toBeGreaterThanOrEqual(leastErrors);
  });

  test.each(named(plain))('%s is read as the SDK reads it', async (_, recording) => {
    const events = await eventsOf(api, recording.body);
    expect(brokenLaws(events)).toEqual([]);
    expect(readingOf(api, events)).toEqual(await readWithSdk(recording));
  });

  test.each(named(plain))('%s has the same content as one JSON value', async (_, recording) => {
    const whole = await wholeWithSdk(recording);
    const events = await eventsOf(api, JSON.stringify(whole));
    expect(brokenLaws(events)).toEqual([]);
    const { blobs: _whole, ...reading } = readingOf(api, events);
    const { blobs: _streamed, ...expected } = await readWithSdk(recording);
    expect(reading).toEqual(expected);
  });

  test.each(named(tolerated))('%s is read although the SDK cannot', async (name, recording) => {
    const tolerance = TOLERATED[name]!;
    const events = await eventsOf(api, recording.body);
    expect(brokenLaws(events)).toEqual([]);
    const ours = readingOf(api, events);
    if (tolerance.throws === undefined) expect(await readWithSdk(recording), tolerance.why).not.toEqual(ours);
    else await expect(readWithSdk(recording), tolerance.why).rejects.toThrow(tolerance.throws);
    const expected = await readWithSdk(mended(recording, tolerance));
    if (tolerance.mendsStop === true) expect(ours.stopReason).toBeUndefined();
    expect({ ...ours, stopReason: undefined }).toEqual({ ...expected, stopReason: undefined });
    if (tolerance.mendsStop !== true) expect(ours.stopReason).toBe(expected.stopReason);
  });

  test.each(named([...broken, ...errors]))('%s ends in the error that the SDK throws', async (_, recording) => {
    const events = await eventsOf(api, recording.body);
    expect(brokenLaws(events)).toEqual([]);
    const { native } = await failWithSdk(recording);
    const failure = events.map(({ payload }) => payload).find(({ type }) => type === 'response_error');
    expect(failure).toMatchObject({ native });
    const response = foldResponse(events);
    expect(response).toMatchObject({ status: 'failed', error: { message: (native as Json).message } });
    expect(response.error?.code).not.toBe('');
  });
});

test.skipIf(!haveRecordings)('every name in the tables is a recording', () => {
  const names = (Object.keys(RECORDED) as ProviderApi[])
    .flatMap((api) => recordings(api, 'stream'))
    .map(({ name }) => name);
  for (const name of [...Object.keys(TOLERATED), ...Object.keys(ERRORS_IN_BAND)]) expect(names).toContain(name);
});
