import type Anthropic from '@anthropic-ai/sdk';
import type OpenAI from 'openai';
import { expect, test } from 'vitest';
import type { MessagesBody, MessagesMessage } from '#core/providers/anthropic-messages/encode.js';
import type { ChatBody } from '#core/providers/openai-chat/encode.js';
import type { ResponsesBody, ResponsesInput } from '#core/providers/openai-responses/encode.js';

/**
 * The compiler (`npm run check`) compares the bodies of requests with the types of the official SDKs. Data that is sent
 * back unchanged has no type in Toolscript, and is excluded.
 */

/** The types demand an id of reasoning, but the service reads sealed reasoning without one (decision 038). */
type Named<Part> = Part extends { type: 'reasoning' }
  ? Part & { id: string }
  : Part extends { type: string }
    ? Part
    : never;

type Responses = Omit<ResponsesBody, 'input'> & { input: Named<ResponsesInput>[] };

type Block = Extract<MessagesMessage, { role: 'assistant' }>['content'][number];
type Messages = Omit<MessagesBody, 'messages'> & {
  messages: (Extract<MessagesMessage, { role: 'user' }> | { role: 'assistant'; content: Named<Block>[] })[];
};

/** The JSON of a body, which leaves out members that are undefined. */
type Sent<Body> = Body extends object ? { [Name in keyof Body]: Sent<Exclude<Body[Name], undefined>> } : Body;

type Fits<Body, Params> = Sent<Body> extends Params ? true : false;

test('bodies match the types of the SDKs', () => {
  const responses: Fits<Responses, OpenAI.Responses.ResponseCreateParamsStreaming> = true;
  const chat: Fits<ChatBody, OpenAI.Chat.ChatCompletionCreateParamsStreaming> = true;
  const messages: Fits<Messages, Anthropic.MessageCreateParamsStreaming> = true;
  expect([responses, chat, messages]).toEqual([true, true, true]);
});

test('a body of another shape is detected', () => {
  type Wrong<Body> = Omit<Body, 'model'> & { model: number };
  const responses: Fits<Wrong<Responses>, OpenAI.Responses.ResponseCreateParamsStreaming> = false;
  const chat: Fits<Wrong<ChatBody>, OpenAI.Chat.ChatCompletionCreateParamsStreaming> = false;
  const messages: Fits<Wrong<Messages>, Anthropic.MessageCreateParamsStreaming> = false;
  expect([responses, chat, messages]).toEqual([false, false, false]);
});
