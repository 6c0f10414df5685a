import { cutToTokens, estimateTokens } from '../history/index.js';
import type { CompactionItem, EventPayload, MessageItem, ModelRequest, OutputItem } from '../protocol/index.js';
import { newId } from '../text/new-id.js';
import { SaidText, shownText } from './usage-estimate.js';
import type { UsageSum } from './usage-sum.js';

/*
 * A conversation that nears the model's window is summed up by the model itself. The summary is an item, and stands
 * for everything before it in later requests; nothing of an earlier answer is rewritten, so what is bound to it (the
 * prompt cache, sealed reasoning) is dropped whole rather than broken.
 */

/** The part of the window at which it is time: the rest is for the answer, and for the summary itself. */
const FULL = 0.8;

const COMPACTION_REQUEST = `The conversation has grown too long to go on as it is. Write down everything that whoever goes on with it needs, and nothing else; what you do not write is lost. Do not call tools and write no script.

- What the person wants, with every condition they named, in their own words where the words matter.
- What has been done: files changed, commands run, effects that must not be repeated.
- What was found out, with exact names, paths, values and error messages.
- What is left to do, and the very next step.`;

/** What a conversation takes of a model's window. */
export class ContextSize {
  readonly #window: number | undefined;
  /** Of what every request begins with: the system text and the tools. */
  readonly #beginning: number;
  #known = 0;
  #items = 0;

  constructor(window: number | undefined, beginning: () => string) {
    this.#window = window;
    this.#beginning = window === undefined ? 0 : estimateTokens(beginning());
  }

  /** What the provider counted for an answer, which is the last of so many items. */
  note(totalTokens: number | undefined, items: number): void {
    if (totalTokens === undefined) return;
    this.#known = totalTokens;
    this.#items = items;
  }

  /** Nothing is known any more. */
  reset(): void {
    this.#known = 0;
    this.#items = 0;
  }

  /** In tokens: what was counted, and an estimate of what came since. */
  of(conversation: readonly OutputItem[]): number {
    const known = this.#known === 0 ? this.#beginning : this.#known;
    return known + estimateTokens(conversation.slice(this.#items).map(shownText).join('\n'));
  }

  isFull(conversation: readonly OutputItem[]): boolean {
    return this.#window !== undefined && this.of(conversation) > this.#window * FULL;
  }
}

/** The part of the window that what the person said last may take beside a summary. */
const LAST_MESSAGE = 0.2;

export function compactionItem(
  id: string,
  summary: string,
  before: readonly OutputItem[],
  { size, window }: { size: number; window: number },
): CompactionItem {
  const said = before.findLast(isPersons)?.content ?? before.findLast(isCompaction)?.last_message;
  const last = said === undefined ? undefined : cutToTokens(said, window * LAST_MESSAGE);
  return {
    type: 'compaction',
    id,
    summary,
    tokens_before: size,
    ...(last === undefined ? {} : { last_message: last }),
  };
}

/** What a model is given of a conversation: what came since the last summary, behind the summary. */
export function sinceCompaction(items: readonly OutputItem[]): readonly OutputItem[] {
  const at = items.findLastIndex(isCompaction);
  if (at === -1) return items;
  return [summaryMessage(items[at] as CompactionItem), ...items.slice(at + 1)];
}

function summaryMessage({ id, summary, last_message: last }: CompactionItem): MessageItem {
  const parts = [
    `<summary>\n${summary}\n</summary>\nThe conversation before this was summed up by you, as above.`,
    ...(last === undefined ? [] : [`The last thing that I said in it was:\n\n${last}`]),
  ];
  return { type: 'message', id: `${id}_summary`, role: 'user', content: parts.join('\n\n') };
}

/** The request for a summary: in the conversation that is sent, never in the one that is kept. */
export function compactionRequest(): MessageItem {
  return { type: 'message', id: newId('item'), role: 'user', content: COMPACTION_REQUEST };
}

/** The text of an answer; whatever else it holds does not count. */
export async function readSummary(
  answer: AsyncIterable<EventPayload>,
  request: ModelRequest,
  usage: UsageSum,
): Promise<{ text: string; error?: { code: string; message: string } }> {
  let text = '';
  const said = new SaidText();
  let error: { code: string; message: string } | undefined;
  try {
    for await (const payload of answer) {
      said.take(payload);
      if (payload.type === 'usage_update') usage.note(payload.usage);
      if (payload.type === 'response_error') error = { code: payload.code, message: payload.message };
      if (payload.type === 'item_done' && payload.final_item.type === 'message') text += payload.final_item.content;
    }
  } catch (failure) {
    error = { code: 'AnswerInterrupted', message: failure instanceof Error ? failure.message : String(failure) };
  }
  usage.endAnswer({ request, said });
  return { text, ...(error === undefined ? {} : { error }) };
}

function isCompaction(item: OutputItem): item is CompactionItem {
  return item.type === 'compaction';
}

function isPersons(item: OutputItem): item is MessageItem {
  return item.type === 'message' && item.role === 'user';
}
