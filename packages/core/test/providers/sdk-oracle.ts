import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import type { ProviderApi } from '#core/providers/index.js';
import type { Recording } from './recordings.js';

/** An answer in the form for the comparison. */
export interface Reading {
  text: string;
  reasoning: string;
  /** The arguments of a call: text if the wire has text, and an object if it has an object. */
  calls: { callId: string; name: string; arguments: unknown }[];
  /** The usage object of the wire. */
  usage: unknown;
  stopReason: string | undefined;
  /** The data that must be sent back unchanged, in order. */
  blobs: unknown[];
}

interface SdkReading {
  readonly reading: Reading;
  /** The whole answer, as the SDK composed it. */
  readonly whole: unknown;
}

const READERS: Readonly<Record<ProviderApi, (recording: Recording) => Promise<SdkReading>>> = {
  'openai-responses': readResponses,
  'openai-chat': readChat,
  'anthropic-messages': readMessages,
};

/** The official SDK's reading of an answer. Rejects if the SDK throws. */
export async function readWithSdk(recording: Recording): Promise<Reading> {
  return (await READERS[recording.api](recording)).reading;
}

/** The SDK's reading of the answer in the form without streaming. */
export async function wholeWithSdk(recording: Recording): Promise<unknown> {
  return (await READERS[recording.api](recording)).whole;
}

/** The error that the SDK throws, as the wire's own object. */
export async function failWithSdk(recording: Recording): Promise<{ native: unknown }> {
  try {
    await READERS[recording.api](recording);
  } catch (error) {
    if (error instanceof OpenAI.APIError) return { native: error.error };
    if (error instanceof Anthropic.APIError) return { native: (error.error as { error: unknown }).error };
    throw error;
  }
  throw new Error('The SDK returned an answer instead of throwing an error.');
}

const settings = { apiKey: 'none', maxRetries: 0 };

function answering({ body, status, kind }: Recording): typeof fetch {
  const type = kind === 'stream' ? 'text/event-stream' : 'application/json';
  return async () => new Response(new Uint8Array(body), { status, headers: { 'content-type': type } });
}

function emptyReading(usage: unknown, stopReason: string | null | undefined): Reading {
  return { text: '', reasoning: '', calls: [], usage, stopReason: stopReason ?? undefined, blobs: [] };
}

function joinedThoughts(thoughts: readonly string[]): string {
  return thoughts.filter((text) => text !== '').join('\n');
}

async function readResponses(recording: Recording): Promise<SdkReading> {
  const client = new OpenAI({ ...settings, fetch: answering(recording) });
  const stream = client.responses.stream({ model: 'any', input: '' });
  const done = new Map<number, OpenAI.Responses.ResponseOutputItem>();
  stream.on('response.output_item.done', ({ item, output_index }) => done.set(output_index, item));
  const whole = await stream.finalResponse();
  const reading = emptyReading(whole.usage, whole.incomplete_details?.reason);
  const thoughts: string[] = [];
  for (const [index, item] of whole.output.entries()) {
    if (item.type === 'message') reading.text += item.content.map(textOfPart).join('');
    if (item.type === 'function_call')
      reading.calls.push({ callId: item.call_id, name: item.name, arguments: item.arguments });
    if (isClientSearch(item)) {
      const { execution, arguments: args } = item;
      const call = {
        callId: item.call_id!,
        name: item.type,
        arguments: JSON.stringify({ arguments: args, execution }),
      };
      reading.calls.push(call);
    }
    if (item.type === 'reasoning')
      thoughts.push([...item.summary, ...(item.content ?? [])].map(({ text }) => text).join('\n\n'));
    // The final response seals reasoning again; the expected value is the first version from the stream.
    reading.blobs.push(blobOf(done.get(index) ?? item));
  }
  reading.reasoning = joinedThoughts(thoughts);
  return { reading, whole };
}

/** A call that the client must execute, and that Toolscript reads as a call of a function of this name. */
function isClientSearch(item: OpenAI.Responses.ResponseOutputItem): item is OpenAI.Responses.ResponseToolSearchCall {
  return item.type === 'tool_search_call' && item.execution === 'client';
}

function textOfPart(part: OpenAI.Responses.ResponseOutputMessage['content'][number]): string {
  return part.type === 'refusal' ? part.refusal : part.text;
}

function blobOf(item: OpenAI.Responses.ResponseOutputItem): unknown {
  switch (item.type) {
    case 'message':
      return { id: item.id, phase: item.phase, content: item.content.map(withoutEmptyLists) };
    case 'reasoning':
      return { id: item.id, encrypted_content: item.encrypted_content, summary: item.summary };
    case 'function_call':
      return { id: item.id, namespace: item.namespace };
    case 'tool_search_call':
      return item.execution === 'client' ? { id: undefined, namespace: undefined } : item;
    default:
      return item;
  }
}

/** An empty list of annotations or log probabilities means the same as a missing one. */
export function withoutEmptyLists(part: object): object {
  return Object.fromEntries(Object.entries(part).filter(([, value]) => !Array.isArray(value) || value.length > 0));
}

interface WithReasoning {
  reasoning?: string | null;
  reasoning_content?: string | null;
}

type Completion = OpenAI.Chat.ChatCompletion & { x_groq?: { usage?: unknown } };

async function readChat(recording: Recording): Promise<SdkReading> {
  const client = new OpenAI({ ...settings, fetch: answering(recording) });
  let reasoning = '';
  const stream = client.chat.completions.stream({ model: 'any', messages: [] });
  // For unknown members the SDK keeps only the last chunk.
  stream.on('chunk', ({ choices }) => {
    const delta = (choices.find(({ index }) => index === 0)?.delta ?? {}) as WithReasoning;
    reasoning += delta.reasoning_content ?? delta.reasoning ?? '';
  });
  const whole = (await stream.finalChatCompletion()) as Completion;
  const { message, finish_reason } = whole.choices[0]!;
  Object.assign(message, { reasoning: undefined, reasoning_content: reasoning === '' ? undefined : reasoning });
  const reading = emptyReading(whole.usage ?? whole.x_groq?.usage, finish_reason);
  reading.text = (message.content ?? '') + (message.refusal ?? '');
  reading.reasoning = reasoning;
  for (const call of message.tool_calls ?? []) {
    if (call.type !== 'function') throw new Error(`The call has the type ${call.type}, not "function".`);
    reading.calls.push({ callId: call.id, name: call.function.name, arguments: call.function.arguments });
  }
  return { reading, whole };
}

async function readMessages(recording: Recording): Promise<SdkReading> {
  const client = new Anthropic({ ...settings, fetch: answering(recording) });
  const whole = await client.beta.messages.stream({ model: 'any', max_tokens: 1, messages: [] }).finalMessage();
  const reading = emptyReading(whole.usage, whole.stop_reason);
  const thoughts: string[] = [];
  for (const block of whole.content) {
    if (block.type === 'text') reading.text += block.text;
    if (block.type === 'thinking') thoughts.push(block.thinking);
    if (block.type === 'tool_use') reading.calls.push({ callId: block.id, name: block.name, arguments: block.input });
    reading.blobs.push(blobOfBlock(block));
  }
  reading.reasoning = joinedThoughts(thoughts);
  return { reading, whole };
}

function blobOfBlock(block: Anthropic.Beta.BetaContentBlock): unknown {
  switch (block.type) {
    case 'text':
      return { citations: block.citations ?? undefined };
    case 'thinking':
      return { signature: block.signature };
    case 'tool_use':
      return { id: block.id, caller: block.caller };
    default:
      return block;
  }
}
