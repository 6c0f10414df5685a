import { providerFailure, type ProviderFailure } from '../answer/index.js';
import { cutToTokens, firstUntrusted, programScope, scopeLine } from '../history/index.js';
import type {
  CompactionItem,
  EventPayload,
  MessageItem,
  ModelRequest,
  OutputItem,
  ScopeEntry,
} from '../protocol/index.js';
import { newId } from '../text/crypto.js';
import { SaidText, type UsageSum } from './run-account.js';

/*
 * The model itself summarises a conversation that nears the model's context window. The summary is an item, and
 * replaces everything before it in later requests. Toolscript never rewrites an earlier answer. It drops an answer
 * together with all data that is bound to the answer (the prompt cache, sealed reasoning).
 */

const COMPACTION_REQUEST = `The conversation has grown too long to continue as it is. Write a summary of everything that is needed to continue it, and nothing else; everything else is lost. Do not call tools and do not write a script.

- The user's request, with every condition, in the user's own words where the wording matters.
- Completed work: changed files, executed commands, effects that must not be repeated.
- Findings, with exact names, paths, values and error messages.
- Remaining work, starting with the next step.`;

/** The maximum share of the window that the user's last message may use next to a summary. */
const LAST_MESSAGE = 0.2;

export function compactionItem(
  id: string,
  summary: string,
  before: readonly OutputItem[],
  { size, window }: { size: number; window: number },
): CompactionItem {
  const said = before.findLast(isUserMessage)?.content ?? before.findLast(isCompaction)?.last_message;
  const last = said === undefined ? undefined : cutToTokens(said, window * LAST_MESSAGE);
  return {
    type: 'compaction',
    id,
    summary,
    tokens_before: size,
    last_message: last,
    ...(firstUntrusted(before) === undefined ? {} : { untrusted: true }),
  };
}

/**
 * The part of a conversation that the model reads: the announcements that still apply, the last summary, then the items
 * after it.
 */
export function sinceCompaction(items: readonly OutputItem[]): readonly OutputItem[] {
  const at = items.findLastIndex(isCompaction);
  if (at === -1) return items;
  const announced = items.slice(0, at).filter((item) => item.type === 'message' && item.announces !== undefined);
  const applied = announced.slice(
    Math.max(
      0,
      announced.findLastIndex(({ announces }) => announces === 'all'),
    ),
  );
  const { scope } = programScope(items.slice(0, at));
  return [...applied, summaryMessage(items[at] as CompactionItem, scope), ...items.slice(at + 1)];
}

function summaryMessage(
  { id, summary, last_message: last }: CompactionItem,
  scope: readonly ScopeEntry[],
): MessageItem {
  const parts = [
    `<summary>\n${summary}\n</summary>\nYou summarised the earlier conversation, as above.`,
    ...(last === undefined ? [] : [`My last message in it was:\n\n${last}`]),
    ...(scope.length === 0 ? [] : [scopeLine(scope)]),
  ];
  return { type: 'message', id: `${id}_summary`, role: 'user', content: parts.join('\n\n') };
}

/** The request for a summary. It is sent with the conversation but never stored in it. */
export function compactionRequest(): MessageItem {
  return { type: 'message', id: newId('item'), role: 'user', content: COMPACTION_REQUEST };
}

/**
 * Reads an answer, and returns the text without the other items. `incomplete`: the reason why the answer ended early.
 * `refusal`: the words with which the model refused to answer.
 */
export async function readAnswerText(
  answer: AsyncIterable<EventPayload>,
  request: ModelRequest,
  { usage, emit }: { readonly usage: UsageSum; readonly emit: (payload: EventPayload) => void },
): Promise<{
  text: string;
  error?: ProviderFailure | undefined;
  incomplete?: string | undefined;
  refusal?: string | undefined;
}> {
  let text = '';
  let incomplete: string | undefined;
  let refusal: string | undefined;
  const said = new SaidText();
  let error: ProviderFailure | undefined;
  try {
    for await (const payload of answer) {
      said.take(payload);
      if (payload.type === 'usage_update') usage.note(payload.usage);
      if (payload.type === 'response_error') error = providerFailure(payload);
      if (payload.type === 'request_retry') emit(payload);
      if (payload.type === 'response_done' && payload.status === 'incomplete')
        incomplete = payload.incomplete_reason ?? 'other';
      if (payload.type !== 'item_done' || payload.final_item.type !== 'message') continue;
      text += payload.final_item.content;
      if (typeof payload.final_item['refusal'] === 'string') refusal = payload.final_item['refusal'];
    }
  } catch (failure) {
    error = { code: 'AnswerInterrupted', message: failure instanceof Error ? failure.message : String(failure) };
  }
  usage.endAnswer({ request, said });
  return { text, error, incomplete, refusal };
}

export function isCompaction(item: OutputItem): item is CompactionItem {
  return item.type === 'compaction';
}

function isUserMessage(item: OutputItem): item is MessageItem {
  return item.type === 'message' && item.role === 'user';
}
