import type Anthropic from '@anthropic-ai/sdk';
import type OpenAI from 'openai';

/**
 * Requests as the official SDKs describe them. Both SDKs are generated from the published descriptions of the APIs.
 * `request-schemas.ts` makes JSON Schemas of these types, which allow no further member.
 */

type Responses = OpenAI.Responses.ResponseCreateParamsStreaming;

/**
 * The SDK demands an id of reasoning. The published schema of the format does not (`ReasoningItemParam`,
 * https://www.openresponses.org, version 2026-04-24), and the service reads sealed reasoning without one.
 */
type Reasoning = Omit<OpenAI.Responses.ResponseReasoningItem, 'id'> & { id?: string };

export type ResponsesRequest = Omit<Responses, 'input'> & {
  input: (Exclude<OpenAI.Responses.ResponseInputItem, { type: 'reasoning' }> | Reasoning)[];
};

type Call = OpenAI.Chat.ChatCompletionMessageToolCall & { extra_content?: Record<string, unknown> };
type Assistant = OpenAI.Chat.ChatCompletionAssistantMessageParam;

/** Members that compatible servers require back, and that OpenAI does not know. */
interface CompatibleServers {
  reasoning_content?: string;
  reasoning?: string;
  reasoning_details?: Record<string, unknown>[];
}

export type ChatRequest = Omit<OpenAI.Chat.ChatCompletionCreateParamsStreaming, 'messages'> & {
  messages: (
    | Exclude<OpenAI.Chat.ChatCompletionMessageParam, Assistant>
    | (Omit<Assistant, 'tool_calls'> & { tool_calls?: Call[] } & CompatibleServers)
  )[];
};

/** The SDK dropped the temperature with the models that take one; those of 4.6 and older are still served. */
export type MessagesRequest = Anthropic.MessageCreateParamsStreaming & { temperature?: number };

/** Hosted tools and MCP are in beta. */
export type MessagesBetaRequest = Anthropic.Beta.MessageCreateParamsStreaming & { temperature?: number };

/** The blocks of an answer that the beta API reads: hosted tools and MCP are in beta. */
export type MessagesAnswerBlocks = Anthropic.Beta.BetaContentBlockParam[];

/* What the services send. */

export type ResponsesEvent = OpenAI.Responses.ResponseStreamEvent;
export type ResponsesItem = OpenAI.Responses.ResponseOutputItem;
export type ChatChunk = OpenAI.Chat.ChatCompletionChunk;
export type MessagesEvent = Anthropic.Beta.BetaRawMessageStreamEvent;
export type MessagesBlock = Anthropic.Beta.BetaContentBlock;
export type MessagesDelta = Anthropic.Beta.BetaRawContentBlockDelta;
