import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { runAgent } from '#core/agent/index.js';
import { defineTool, type Harness } from '#core/index.js';
import type { EventPayload, FunctionCallItem, ModelProvider } from '#core/protocol/index.js';
import { decodeStream, type ProviderApi } from '#core/providers/index.js';
import { eventsOf } from '../providers/decoded.js';
import { OWN_STREAMS } from '../providers/own-streams.js';
import { haveRecordings, recordings } from '../providers/recordings.js';
import { bodyOf, messagesOf, type WireMessage } from '../providers/wire-text.js';
import { openWorld } from './running.js';

/*
 * An agent with a write tool reads damaged answers. It may make fewer calls than the model requested, but never other
 * calls, and no call twice.
 */

type Json = Record<string, unknown>;

interface Mutation {
  readonly what: string;
  readonly messages: readonly WireMessage[];
}

interface Sample {
  readonly name: string;
  readonly api: ProviderApi;
  readonly messages: readonly WireMessage[];
  /** Each call of the answer in its original form: the tool's name and its input. */
  readonly asked: readonly string[];
  readonly harness: Harness;
  /** The inputs of the tools. */
  readonly done: string[];
  /** The maximum number of mutated positions, spread over the stream. */
  readonly places: number;
}

const APIS = Object.keys(OWN_STREAMS) as ProviderApi[];
const TOOL_NAME = /^[A-Za-z_$][\w$]*$/u;

/** A recording is mutated at fewer positions, because there are many recordings. */
const PLACES = { own: 40, recorded: 6 };

async function sampleOf(api: ProviderApi, name: string, body: string, places: number): Promise<Sample | undefined> {
  const calls = (await eventsOf(api, body)).flatMap(({ payload }) =>
    payload.type === 'item_done' && payload.final_item.type === 'function_call' ? [payload.final_item] : [],
  );
  const whole = calls.filter(({ arguments: text }) => isObject(text));
  const tools = [...new Set(calls.map((call) => call.name))];
  if (calls.length === 0 || !tools.every((tool) => TOOL_NAME.test(tool))) return undefined;
  return { name, api, messages: messagesOf(body), asked: whole.map(askedFor), ...openTools(tools), places };
}

function isObject(text: string): boolean {
  try {
    return typeof JSON.parse(text) === 'object';
  } catch {
    return false;
  }
}

function askedFor({ name, arguments: text }: FunctionCallItem): string {
  return `${name} ${JSON.stringify(JSON.parse(text))}`;
}

function openTools(names: readonly string[]): Pick<Sample, 'harness' | 'done'> {
  const done: string[] = [];
  const tools = names.map((name) =>
    defineTool({
      name,
      description: 'Writes whatever it is given.',
      effect: 'write',
      approval: 'never',
      callers: 'both',
      input: z.looseObject({}),
      execute: (input) => {
        done.push(`${name} ${JSON.stringify(input)}`);
        return { written: true };
      },
    }),
  );
  return { harness: openWorld({ tools: tools as never }).harness, done };
}

/** The formats in which a provider's own code can call tools. */
const HOSTED: readonly ProviderApi[] = ['openai-responses', 'anthropic-messages'];

/** The inputs of the tools when the agent read the answer. */
async function executed({ api, harness, done }: Sample, messages: readonly WireMessage[]): Promise<string[]> {
  done.length = 0;
  const carrier = HOSTED.includes(api) ? ('hosted' as const) : ('tool' as const);
  const agent = { slug: 'tester', functions: 'all' as const, carrier, maxTurns: 4 };
  for await (const _ of runAgent({ provider: replaying(api, bodyOf(messages)), harness, agent, input: 'Go.' }));
  return [...done];
}

/** A provider whose first answer is this body, without further answers. */
function replaying(api: ProviderApi, body: string): ModelProvider {
  let asked = 0;
  return {
    api,
    model: 'model-1',
    capabilities: { stopSequences: false, customTools: false, hostedCode: HOSTED.includes(api) },
    async *stream(): AsyncGenerator<EventPayload> {
      asked += 1;
      if (asked > 1) {
        yield { type: 'response_start' };
        yield { type: 'response_done', status: 'completed' };
        return;
      }
      for await (const { payload } of decodeStream(api, body)) yield payload;
    },
  };
}

async function check(sample: Sample, { what, messages }: Mutation): Promise<void> {
  const left = [...sample.asked];
  for (const call of await executed(sample, messages)) {
    const at = left.indexOf(call);
    if (at === -1) {
      const fault = sample.asked.includes(call) ? 'ran twice' : 'was never asked for';
      throw new Error(`${what}: ${call} ${fault}. The answer was:\n${bodyOf(messages)}`);
    }
    left.splice(at, 1);
  }
}

const json = ({ data }: WireMessage): Json => (data === '[DONE]' ? {} : (JSON.parse(data) as Json));

const firstChoice = (event: Json): Json => ((event.choices as Json[] | undefined) ?? [])[0] ?? {};

const callPieces = (event: Json): Json[] =>
  ((firstChoice(event).delta as Json | undefined)?.tool_calls ?? []) as Json[];

/** True if the event announces a slot: a call, a content block, an output item. */
function announces(message: WireMessage): boolean {
  const event = json(message);
  if (event.type === 'content_block_start' || event.type === 'response.output_item.added') return true;
  return callPieces(event).some((piece) => (piece.function as Json | undefined)?.name !== undefined);
}

/** True if the event contains a chunk of a call's arguments. */
function isArgumentPiece(message: WireMessage): boolean {
  const event = json(message);
  if (event.type === 'content_block_delta') return (event.delta as Json).type === 'input_json_delta';
  if (event.type === 'response.function_call_arguments.delta') return true;
  return callPieces(event).some((piece) => (piece.function as Json | undefined)?.name === undefined);
}

/** The events that mark the end of the answer. */
function endOf(messages: readonly WireMessage[]): WireMessage[] {
  const isEnd = (message: WireMessage) => {
    const event = json(message);
    if (typeof event.type !== 'string') return typeof firstChoice(event).finish_reason === 'string';
    return ['message_delta', 'message_stop', 'response.completed'].includes(event.type);
  };
  return messages.filter(isEnd);
}

/** The last event of Responses repeats every item. This one has none. */
function withoutOutput(message: WireMessage): WireMessage {
  const event = json(message);
  if (event.type !== 'response.completed') return message;
  return { ...message, data: JSON.stringify({ ...event, response: { ...(event.response as Json), output: [] } }) };
}

function spread(length: number, most: number): number[] {
  const step = Math.max(1, Math.ceil(length / most));
  return [...Array(length).keys()].filter((place) => place % step === 0);
}

function mutationsOf({ api, messages, places: most }: Sample): Mutation[] {
  const places = spread(messages.length + 1, most);
  const end = endOf(messages);
  const isPiece = messages.map(isArgumentPiece);
  const pieces = [...messages.keys()].filter((place) => isPiece[place]);
  const without = (dropped: readonly number[]) => messages.filter((_, place) => !dropped.includes(place));
  // Two equal consecutive chunks of text are two chunks, unless the format numbers or repeats its events.
  const canDouble = (place: number) => api === 'openai-responses' || !isPiece[place];
  const announcements = [...messages.keys()].filter((place) => announces(messages[place]!));
  return [
    { what: 'every event came twice', messages: messages.flatMap((message) => [message, message]) },
    ...spread(messages.length, most)
      .filter(canDouble)
      .map((at) => ({ what: `event ${at} came twice`, messages: messages.toSpliced(at, 0, messages[at]!) })),
    ...places.map((at) => ({
      what: `the message began anew at ${at}`,
      messages: [...messages.slice(0, at), ...messages],
    })),
    ...announcements.flatMap((slot) =>
      places
        .filter((at) => at > slot)
        .map((at) => ({
          what: `slot ${slot} was announced again at ${at}`,
          messages: messages.toSpliced(at, 0, messages[slot]!),
        })),
    ),
    ...places.map((at) => ({ what: `the body ended at ${at}`, messages: messages.slice(0, at) })),
    ...places.flatMap((at) => [
      { what: `the answer was said to be done at ${at}`, messages: [...messages.slice(0, at), ...end] },
      {
        what: `it was said to be done at ${at}, empty`,
        messages: [...messages.slice(0, at), ...end.map(withoutOutput)],
      },
      { what: `a reason came at ${at}, and nothing else`, messages: [...messages.slice(0, at), ...end.slice(0, 1)] },
    ]),
    { what: 'no arguments came', messages: without(pieces) },
    { what: 'the first arguments were lost', messages: without(pieces.filter((at) => !isPiece[at - 1])) },
    { what: 'the last arguments were lost', messages: without(pieces.filter((at) => !isPiece[at + 1])) },
  ];
}

async function checkAll(samples: readonly Sample[]): Promise<number> {
  let checked = 0;
  for (const sample of samples) {
    expect((await executed(sample, sample.messages)).toSorted(), sample.name).toEqual([...sample.asked].toSorted());
    for (const mutation of mutationsOf(sample)) {
      await check(sample, mutation);
      checked += 1;
    }
  }
  return checked;
}

describe.each(APIS)('a damaged answer in %s', (api) => {
  const samplesOf = async (bodies: readonly (readonly [string, string])[], places: number) => {
    const samples = await Promise.all(bodies.map(([name, body]) => sampleOf(api, name, body, places)));
    return samples.filter((sample) => sample !== undefined);
  };

  test('makes no call that the model did not ask for, and none twice', async () => {
    const samples = await samplesOf(Object.entries(OWN_STREAMS[api]), PLACES.own);
    expect(samples.length).toBeGreaterThan(0);
    expect(await checkAll(samples)).toBeGreaterThan(50);
  });

  test('also obeys this law if it is damaged twice', async () => {
    const samples = await samplesOf(Object.entries(OWN_STREAMS[api]), PLACES.own);
    const picks = fc.tuple(fc.constantFrom(...samples), fc.nat(), fc.nat());
    await fc.assert(
      fc.asyncProperty(picks, async ([sample, first, second]) => {
        const once = mutationsOf(sample);
        const { what, messages } = once[first % once.length]!;
        const twice = mutationsOf({ ...sample, messages });
        const next = twice[second % twice.length]!;
        await check(sample, { what: `${what}; ${next.what}`, messages: next.messages });
      }),
      { numRuns: 150 },
    );
  });

  test.skipIf(!haveRecordings)('makes no other call if it is undamaged', async () => {
    const bodies = recordings(api, 'stream').map(({ name, body }) => [name, body.toString()] as const);
    expect(await checkAll(await samplesOf(bodies, PLACES.recorded))).toBeGreaterThan(400);
  });
});
