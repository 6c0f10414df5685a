import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeStream, type ProviderApi } from '#core/providers/index.js';
import { foldResponse } from '#core/history/index.js';
import type { FunctionCallItem, StreamEvent, Usage } from '#core/protocol/index.js';
import { isJsonObject } from '#core/providers/wire-values.js';
import { tries } from '@toolscript/testkit/some-cases';
import { OWN_STREAMS } from './own-streams.js';
import { haveRecordings, recordings } from './recordings.js';
import { bodyOf, messagesOf, type WireMessage } from './wire-text.js';

/*
 * These tests read two answers spliced together, answers with lost or repeated parts, and bodies truncated between and
 * inside events. A call may be lost; a call that neither answer contains must not appear, and no call may appear twice.
 * A cut answer that has not failed has the status, the calls, the text and the reasoning of the whole one.
 *
 * Pieces of a call's arguments have no number in Chat and Messages, so a reader cannot see that one is missing between
 * two others. The law of these formats therefore excludes damage inside a call, unless the id of the answer changes,
 * and halves of two events that are one event together.
 */

const APIS = Object.keys(OWN_STREAMS) as ProviderApi[];

interface Answer extends Content {
  readonly name: string;
  readonly bytes: Buffer;
  readonly messages: readonly WireMessage[];
}

type Body = string | Uint8Array | AsyncIterable<Uint8Array>;

interface Content {
  /** The calls; in Responses with any arguments, elsewhere with those of a tool. */
  readonly calls: readonly string[];
  /** The whole messages and reasoning. */
  readonly texts: readonly string[];
  readonly status: string;
  readonly usage: Usage | undefined;
}

async function contentOf(api: ProviderApi, body: Body): Promise<Content> {
  const events: StreamEvent[] = [];
  for await (const event of decodeStream(api, body)) events.push(event);
  const { status, usage } = foldResponse(events);
  const done = events.flatMap(({ payload }) => (payload.type === 'item_done' ? [payload.final_item] : []));
  return {
    calls: done.flatMap((item) => (item.type === 'function_call' && isRead(api, item) ? [callText(item)] : [])),
    texts: done.flatMap((item) => (item.type === 'message' || item.type === 'reasoning' ? [item.content] : [])),
    status,
    usage,
  };
}

/**
 * In Chat and Messages, a piece that follows whole arguments may be meant; the call then does not run. No call of an
 * unknown type runs, such as one of half an event.
 */
function isRead(api: ProviderApi, call: FunctionCallItem): boolean {
  if (api === 'openai-responses') return call['foreign_type'] === undefined;
  return call.native_type === 'custom_tool_call' || isJsonObject(call.arguments);
}

function callText({ name, arguments: text }: FunctionCallItem): string {
  return `${name} ${isJsonObject(text) ? JSON.stringify(JSON.parse(text)) : text}`;
}

async function answersOf(api: ProviderApi, bodies: readonly (readonly [string, Buffer])[]): Promise<Answer[]> {
  const answers = await Promise.all(
    bodies.map(async ([name, bytes]) => ({
      name,
      bytes,
      messages: messagesOf(bytes.toString()),
      ...(await contentOf(api, bytes)),
    })),
  );
  return answers.filter(({ calls }) => calls.length > 0);
}

const place = fc.noBias(fc.nat({ max: 999_999 })).map((parts) => parts / 1_000_000);

interface Damage {
  readonly what: 'splice' | 'loss' | 'cut';
  readonly inside: boolean;
  readonly from: number;
  readonly to: number;
}

const damage: fc.Arbitrary<Damage> = fc.record({
  what: fc.constantFrom('splice', 'splice', 'loss', 'cut'),
  inside: fc.boolean(),
  from: place,
  to: place,
});

interface Parts {
  readonly start: Buffer;
  readonly rest: Buffer;
}

function partsOf(first: Answer, second: Answer, { what, inside, from, to }: Damage): Parts {
  const other = what === 'splice' ? second : first;
  const start = inside
    ? first.bytes.subarray(0, Math.floor(from * first.bytes.length))
    : bodyOf(first.messages.slice(0, Math.floor(from * first.messages.length)));
  const rest = inside
    ? other.bytes.subarray(Math.floor(to * other.bytes.length))
    : bodyOf(other.messages.slice(Math.floor(to * other.messages.length)));
  return { start: Buffer.from(start), rest: Buffer.from(what === 'cut' ? '' : rest) };
}

/** True if a reader of the format can tell that the rest does not follow the start. */
async function canTell(api: ProviderApi, { start, rest }: Parts): Promise<boolean> {
  if (api === 'openai-responses' || rest.length === 0) return true;
  if (gluesAnEvent(start.toString(), rest.toString())) return false;
  if (!(await leavesCallOpen(api, start))) return true;
  const [before, after] = [start, rest].map(
    (part) => new Set(part.toString().match(/^data: \{"id": ?"chatcmpl-[^"]+"/gmu)),
  );
  return before!.size === 1 && after!.size === 1 && [...before!][0] !== [...after!][0];
}

/** True if the halves of two events became one event that is JSON. */
function gluesAnEvent(start: string, rest: string): boolean {
  const half = start.slice(start.lastIndexOf('\n\n') + 1).trim();
  const glued = messagesOf(half + rest.slice(0, rest.indexOf('\n\n')));
  return half !== '' && glued.some(({ data }) => isJsonObject(data));
}

async function leavesCallOpen(api: ProviderApi, start: Buffer): Promise<boolean> {
  const open = new Set<string>();
  for await (const { payload } of decodeStream(api, start)) {
    if (payload.type === 'item_start' && payload.item_type === 'function_call') open.add(payload.item_id);
    const isWhole = payload.type === 'item_done' && isJsonObject(String(payload.final_item.arguments));
    if (isWhole) open.delete(payload.item_id);
  }
  return open.size > 0;
}

async function* chunksOf(bytes: Buffer, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  let at = 0;
  for (let turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length]!;
    yield await Promise.resolve(bytes.subarray(at, at + size));
    at += size;
  }
}

/** Returns the number of bodies that were checked. */
async function checkDamage(api: ProviderApi, answers: readonly Answer[], runs: number): Promise<number> {
  let checked = 0;
  const one = fc.constantFrom(...answers);
  await fc.assert(
    fc.asyncProperty(one, one, damage, async (first, second, how) => {
      const parts = partsOf(first, second, how);
      if (!(await canTell(api, parts))) return;
      checked += 1;
      const left = [...first.calls, ...(how.what === 'splice' ? second.calls : [])];
      const content = await contentOf(api, Buffer.concat([parts.start, parts.rest]));
      const isGlued = gluesAnEvent(parts.start.toString(), parts.rest.toString());
      // Half an event and the rest of another may be a call without arguments, which no server sends.
      for (const call of content.calls.filter((each) => !isGlued || each.endsWith('}'))) {
        const at = left.indexOf(call);
        if (at === -1) throw new Error(`${first.name} and ${second.name}: nobody asked for ${call}.`);
        left.splice(at, 1);
      }
      if (how.what === 'cut' && !statesEarlyEnd(parts.start, first)) expectCut(content, first);
      if (content.status === 'completed' && isNumbered(parts)) expectWhole(content, [first, second]);
    }),
    { numRuns: runs, seed: 42 },
  );
  return checked;
}

/** True if the answer has a reason for its end in the cut part, and another one later. Some servers of Chat send two. */
function statesEarlyEnd(start: Buffer, whole: Answer): boolean {
  const ends = [start, whole.bytes].map((part) => part.toString().match(/"finish_reason": ?"/gu)?.length ?? 0);
  return ends[0]! > 0 && ends[0]! < ends[1]!;
}

/** A cut answer is the whole one, or failed with a part of it. */
function expectCut({ calls, texts, status }: Content, whole: Answer): void {
  if (status === 'failed') return;
  expect({ calls, texts, status }, whole.name).toEqual({
    calls: whole.calls,
    texts: whole.texts,
    status: whole.status,
  });
}

/** True if a reader notices every event that is missing. */
function isNumbered({ start, rest }: Parts): boolean {
  const isEach = [start, rest].every((part) =>
    part
      .toString()
      .split('\n\n')
      .slice(0, -1)
      .every((event) => event.includes('"sequence_number"')),
  );
  return isEach && !gluesAnEvent(start.toString(), rest.toString());
}

/** A complete answer with numbered events lacks no part of a text, and has the usage of its own end. */
function expectWhole({ texts, usage }: Content, answers: readonly Answer[]): void {
  const known = new Set(answers.flatMap((answer) => answer.texts));
  expect(texts.filter((text) => !known.has(text))).toEqual([]);
  expect(answers.map((answer) => JSON.stringify(answer.usage))).toContain(JSON.stringify(usage));
}

async function checkSplits(api: ProviderApi, answers: readonly Answer[], runs: number): Promise<void> {
  const sizes = fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...answers), sizes, async (answer, lengths) => {
      const content = await contentOf(api, chunksOf(answer.bytes, lengths));
      expect({ ...answer, ...content }, answer.name).toEqual(answer);
    }),
    { numRuns: runs, seed: 42 },
  );
}

describe.each(APIS)('a body of %s', (api) => {
  const own = () =>
    answersOf(
      api,
      Object.entries(OWN_STREAMS[api]).map(([name, body]) => [name, Buffer.from(body)] as const),
    );
  const recorded = () =>
    answersOf(
      api,
      recordings(api, 'stream').map(({ name, body }) => [name, body] as const),
    );

  test(
    'that was spliced, or has lost or repeated a part, makes no call that was not asked for',
    { timeout: 120_000 },
    async () => {
      const runs = tries(3000);
      expect(await checkDamage(api, await own(), runs)).toBeGreaterThan(runs / 4);
    },
  );

  test('makes the same calls however it is split', { timeout: 120_000 }, async () => {
    await checkSplits(api, await own(), tries(200));
  });

  test.skipIf(!haveRecordings)('as providers sent it, obeys both laws', { timeout: 300_000 }, async () => {
    const answers = await recorded();
    expect(answers.length).toBeGreaterThan(10);
    const runs = tries(5000);
    expect(await checkDamage(api, answers, runs)).toBeGreaterThan(runs / 4);
    await checkSplits(api, answers, tries(500));
  });
});
