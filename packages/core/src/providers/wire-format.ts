import type { ProviderApi } from './answer-writer.js';
import { membersOf, textOf } from './wire-values.js';

const MESSAGES_EVENT = /^(?:message_(?:start|delta|stop)|content_block_(?:start|delta|stop))$/u;
const RESPONSES_EVENT =
  /^response\.(?:created|queued|in_progress|completed|incomplete|failed|output_text\.delta|output_item\.(?:added|done))$/u;

/** The wire format that a message names itself; undefined for errors and messages that every format may have. */
export function formatOf(data: unknown): ProviderApi | undefined {
  const { object, type, role, content } = membersOf(data);
  const [kind, name] = [textOf(object) ?? '', textOf(type) ?? ''];
  if (kind.startsWith('chat.completion')) return 'openai-chat';
  if (kind === 'response' || RESPONSES_EVENT.test(name)) return 'openai-responses';
  const isMessage = name === 'message' && role === 'assistant' && Array.isArray(content);
  return isMessage || MESSAGES_EVENT.test(name) ? 'anthropic-messages' : undefined;
}
