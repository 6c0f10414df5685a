import { describe, expect, test } from 'vitest';
import { foldResponse } from '#core/history/index.js';
import { encodeMessages } from '#core/providers/anthropic-messages/encode.js';
import { encodeChat } from '#core/providers/openai-chat/encode.js';
import { encodeResponses } from '#core/providers/openai-responses/encode.js';
import { createPrompt, type Prompt } from '#core/providers/prompt.js';
import type { ProviderApi } from '#core/providers/index.js';
import type { OutputItem } from '#core/protocol/index.js';
import { output, user } from './asking.js';
import { eventsOf } from './decoded.js';
import { haveRecordings, recordings, type Recording } from './recordings.js';
import { wholeWithSdk } from './sdk-oracle.js';
import { messagesOf } from './wire-text.js';

/** Tests that read answers of real providers, send them back, and compare them with the originals. */

type Json = Record<string, unknown>;

/** The conversation after the answer, every call with a result; undefined if the answer failed. */
async function promptAfter({ api, body }: Recording): Promise<Prompt | undefined> {
  const response = foldResponse(await eventsOf(api, body));
  if (response.status !== 'completed') return undefined;
  const { output_items: items } = response;
  const results = items.flatMap((item): OutputItem[] => (item.type === 'function_call' ? [output(item, 'x')] : []));
  const conversation = [user('Go'), ...items, ...results, user('Go on')];
  return createPrompt(api, 'any', { conversation, promptCache: { marks: false } });
}

/** The value without members that have no content: null members, empty lists of annotations. */
function plain(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (name, member: unknown) => {
      const empty =
        ['annotations', 'logprobs', 'citations', 'content'].includes(name) &&
        Array.isArray(member) &&
        member.length === 0;
      return member === null || empty || name === 'parsed' || name === 'parsed_arguments' ? undefined : member;
    }),
  );
}

/** An item as Toolscript sends it back to a service that has not stored it: without the ids of stored items. */
function unstored({ status, ...item }: Json): Json[] {
  const { id: _id, ...others } = item;
  switch (item.type) {
    case 'message': {
      const content = (item.content as Json[]).map((part) => (part.text ?? part.refusal ?? '') as string).join('');
      return content === '' ? [] : [{ ...others, content }];
    }
    case 'function_call':
    case 'custom_tool_call':
      return [others];
    case 'tool_search_call': {
      // A call that the client must execute, and that Toolscript does not know, becomes a call of a function.
      const { type: name, execution, call_id, caller, arguments: args } = item;
      if (execution !== 'client') return [{ ...item, status }];
      return [
        { type: 'function_call', call_id, name, arguments: JSON.stringify({ arguments: args, execution }), caller },
      ];
    }
    case 'reasoning':
      return [typeof item.encrypted_content === 'string' ? others : item];
    default:
      return [{ ...item, status }];
  }
}

const REASONING = ['thinking', 'redacted_thinking'];

const CHECKS: Readonly<Record<ProviderApi, (prompt: Prompt, recording: Recording) => Promise<void>>> = {
  async 'anthropic-messages'(prompt, recording) {
    const { content } = (await wholeWithSdk(recording)) as { content: Json[] };
    const calls = content.map(({ id }) => id);
    const said = content.filter(
      ({ type, text, tool_use_id: of }) =>
        // A result whose call an earlier answer made cannot go back alone.
        (type !== 'text' || String(text).trim() !== '') && (of === undefined || calls.includes(of)),
    );
    const last = said.findLastIndex(({ type }) => !REASONING.includes(String(type)));
    const sent = encodeMessages(prompt).messages.find(({ role }) => role === 'assistant');
    expect(plain(sent?.content ?? [])).toEqual(plain(said.slice(0, last + 1)));
  },
  async 'openai-responses'(prompt, recording) {
    const events = messagesOf(recording.body.toString()).map(
      ({ data }) => (data === '[DONE]' ? {} : JSON.parse(data)) as Json,
    );
    const finished = events.filter(({ type }) => type === 'response.output_item.done');
    const { output: whole } = (await wholeWithSdk(recording)) as { output: Json[] };
    // The final response seals reasoning again; the request contains the first version from the stream.
    const done = whole.map((item, index) => {
      const event = finished.find(({ output_index: at }) => at === index);
      return (event?.item ?? item) as Json;
    });
    const said = done.filter(({ type, encrypted_content: sealed, content }) => {
      return type !== 'reasoning' || typeof sealed === 'string' || (Array.isArray(content) && content.length > 0);
    });
    const sent = (encodeResponses(prompt).input as unknown as Json[]).filter(
      ({ type, role }) => role !== 'user' && !String(type).endsWith('_call_output'),
    );
    expect(plain(sent)).toEqual(plain(said.flatMap(unstored)));
  },
  async 'openai-chat'(prompt, recording) {
    const { choices } = (await wholeWithSdk(recording)) as { choices: { message: Json }[] };
    const { content, refusal, tool_calls: calls } = choices[0]!.message;
    const sent = encodeChat(prompt).messages.find(({ role }) => role === 'assistant') as Json | undefined;
    expect((sent?.content ?? '') as string).toBe((content ?? '') as string);
    expect(sent?.refusal ?? undefined).toEqual(refusal ?? undefined);
    const functionsOf = (list: unknown): unknown =>
      ((list ?? []) as { function: Json }[]).map(({ function: { name, arguments: text } }) => [name, text || '{}']);
    expect(functionsOf(sent?.tool_calls)).toEqual(functionsOf(calls));
  },
};

/** Recordings that the SDK reads without an error, but incompletely; see against-sdks.test.ts. */
const MISREAD = ['8aa14a899f0a9de2', 'b157c9e1aa76045a'];

/** False for recordings that the SDK cannot read at all. */
async function isReadable(recording: Recording): Promise<boolean> {
  return wholeWithSdk(recording).then(
    () => true,
    () => false,
  );
}

describe.skipIf(!haveRecordings).each([
  ['openai-responses', 40],
  ['openai-chat', 80],
  ['anthropic-messages', 40],
] as const)('recordings of %s', (api, least) => {
  test('answers are sent back unchanged', async () => {
    let compared = 0;
    for (const recording of recordings(api, 'stream')) {
      const prompt = await promptAfter(recording);
      if (prompt === undefined || MISREAD.includes(recording.name) || !(await isReadable(recording))) continue;
      await CHECKS[api](prompt, recording).catch((error: Error) => {
        throw new Error(recording.name, { cause: error });
      });
      compared += 1;
    }
    expect(compared).toBeGreaterThanOrEqual(least);
  });
});
