import { foldResponse } from '#core/history/index.js';
import type { OutputItem, Response, StreamEvent } from '#core/protocol/index.js';
import type { ProviderApi } from '#core/providers/index.js';
import { doneOf, itemsOf, reasoningOf, textOf } from './decoded.js';
import { withoutEmptyLists, type Reading } from './sdk-oracle.js';

/** Toolscript's events in the form of the comparison. `response`: the same events, if they are already folded. */
export function readingOf(
  api: ProviderApi,
  events: readonly StreamEvent[],
  response: Response = foldResponse(events),
): Reading {
  return {
    text: textOf(response),
    reasoning: reasoningOf(response),
    calls: itemsOf(response, 'function_call').map((call) => ({
      callId: call.call_id,
      name: call.name,
      arguments: api === 'anthropic-messages' ? (JSON.parse(call.arguments) as unknown) : call.arguments,
    })),
    usage: response.usage?.native,
    stopReason: doneOf(events).stop_reason as string | undefined,
    blobs: response.output_items.filter(({ type }) => type !== 'error').flatMap((item) => BLOBS[api](item)),
  };
}

/** The data that an item sends back to its provider in addition to the text. */
const BLOBS: Readonly<Record<ProviderApi, (item: OutputItem) => unknown[]>> = {
  'openai-responses': (item) => [responsesBlob(item)],
  'openai-chat': () => [],
  'anthropic-messages': (item) => [messagesBlob(item)],
};

function responsesBlob(item: OutputItem): unknown {
  if (item.native !== undefined) return item.native;
  const id = item.native_id;
  switch (item.type) {
    case 'message': {
      const parts = (item.content_parts as object[] | undefined) ?? [{ type: 'output_text', text: item.content }];
      return { id, phase: item.phase, content: parts.map(withoutEmptyLists) };
    }
    case 'reasoning':
      return { id, encrypted_content: item.encrypted_content, summary: item.summary };
    default:
      return { id, namespace: item.namespace };
  }
}

function messagesBlob(item: OutputItem): unknown {
  if (item.native !== undefined) return item.native;
  switch (item.type) {
    case 'message':
      return { citations: item.citations };
    case 'reasoning':
      return { signature: item.signature };
    default:
      return { id: item.native_id, caller: item.caller };
  }
}
