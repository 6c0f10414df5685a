import type { ModelProvider, ModelRequest, OutputItem } from '../protocol/index.js';
import { estimateTokens } from '../history/index.js';
import { newId } from '../text/crypto.js';
import { failedEnd, incompleteEnd, type AgentRunEnd, type AgentRunState } from './agent-run-state.js';
import { compactionItem, compactionRequest, readAnswerText } from './compaction.js';
import { shownText, type RunAccount } from './run-account.js';
import type { RunLog } from './run-log.js';

interface ContextWindowOptions {
  readonly log: RunLog;
  readonly account: RunAccount;
  readonly provider: ModelProvider;
  readonly signal: AbortSignal;
  /** The model's context window in tokens. Undefined: it is not known, and nothing is summarised. */
  readonly size: number | undefined;
  /** The system text and the tools, with which every request begins. */
  readonly beginning: () => string;
}

/** The share of the window at which the conversation is summarised. The rest is room for the answer and the summary. */
const FULL = 0.8;

const RESULTS: ReadonlySet<string> = new Set(['script_execution_output', 'function_call_output']);

/** Follows how much of the model's context window a run's conversation uses, and has it summarised in time. */
export class ContextWindow {
  readonly #options: ContextWindowOptions;
  /** Estimated tokens of the beginning of every request. 0 without a window. */
  readonly #beginning: number;
  #knownTokens = 0;
  /** Number of items that the last request contained. */
  #sentItems = 0;
  /** Number of items after the last answer. */
  #items = 0;
  /** True directly after a summary: a second summary would not shorten the conversation further. */
  #isCompacted = false;

  constructor(options: ContextWindowOptions) {
    this.#options = options;
    this.#beginning = options.size === undefined ? 0 : estimateTokens(options.beginning());
  }

  /** Whether the conversation needs a summary before the next request. */
  isFull(conversation: readonly OutputItem[]): boolean {
    const { size } = this.#options;
    return size !== undefined && !this.#isCompacted && this.#usedTokens(conversation) > size * FULL;
  }

  /** Records an answer, and its token count. `sent`: the number of items in its request. */
  noteAnswer(sent: number): void {
    this.#isCompacted = false;
    const { log, account } = this.#options;
    const { context_tokens, total_tokens } = account.usage.last ?? {};
    const totalTokens = context_tokens ?? total_tokens;
    if (totalTokens === undefined) return;
    this.#knownTokens = totalTokens;
    this.#sentItems = sent;
    this.#items = log.conversation().length;
  }

  /** The model summarises the conversation. Later requests contain the summary instead of the conversation. */
  async summarise(requestWith: (conversation: readonly OutputItem[]) => ModelRequest): Promise<AgentRunState> {
    const { log, account, provider, signal, size } = this.#options;
    const id = newId('item');
    const before = log.conversation();
    log.emit({ type: 'item_start', item_id: id, item_type: 'compaction' });
    const request = { ...requestWith([...before, compactionRequest()]), outputSchema: undefined };
    const asked = account.boundedRequest(request);
    if (typeof asked === 'string') return this.#cancel(id, asked);
    const { text, error } = await readAnswerText(provider.stream(asked, { signal, answerId: newId('answer') }), asked, {
      usage: account.usage,
      emit: log.emit,
    });
    account.requestDone();
    if (signal.aborted || error !== undefined || text.trim() === '') {
      const why = error ?? {
        code: 'CompactionFailed',
        message:
          'The model returned no summary of the conversation. Send the prompt again, or start a new conversation.',
      };
      log.emit({ type: 'item_error', item_id: id, ...why });
      return signal.aborted ? { type: 'done', status: 'cancelled' } : failedEnd(log, why);
    }
    account.emitUsage();
    const item = compactionItem(id, text, log.items, { size: this.#usedTokens(before), window: size! });
    log.emit({ type: 'item_done', item_id: id, final_item: item });
    this.#knownTokens = this.#sentItems = this.#items = 0;
    this.#isCompacted = true;
    return { type: 'asking' };
  }

  #cancel(id: string, reason: string): AgentRunEnd {
    this.#options.log.emit({
      type: 'item_cancelled',
      item_id: id,
      reason: 'The budget has no room for a summary. Start a new conversation.',
    });
    return incompleteEnd(reason);
  }

  /** The last recorded count, plus an estimate of the items that the count does not include. */
  #usedTokens(conversation: readonly OutputItem[]): number {
    const known = this.#knownTokens === 0 ? this.#beginning : this.#knownTokens;
    return known + estimateTokens(conversation.filter(this.#isUncounted).map(shownText).join('\n'));
  }

  /** The provider has not counted the output of the last answer's scripts and calls, which ends after the answer. */
  readonly #isUncounted = ({ type }: OutputItem, index: number): boolean =>
    index >= this.#items || (index >= this.#sentItems && RESULTS.has(type));
}
