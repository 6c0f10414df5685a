import { RunItems } from '@toolscript/core/history';
import { isFinalRunState } from '@toolscript/core/internal';
import {
  ApprovalQuerySchema,
  EventRangeSchema,
  ItemQuerySchema,
  ThreadDraftSchema,
  ThreadInstructionsSchema,
  ThreadQuerySchema,
  type ApprovalPage,
  type ApprovalQuery,
  type DecidedApproval,
  type EventPage,
  type EventRange,
  type ItemPage,
  type ItemQuery,
  type OwnerFilter,
  type ThreadDraft,
  type ThreadInstructions,
  type ThreadPage,
  type ThreadQuery,
  type TurnItems,
  DEFAULT_PAGE,
} from '@toolscript/core/ports';
import {
  DecisionSchema,
  RunFenceSchema,
  StoreIdSchema,
  type Approval,
  type OutputItem,
  type RunFence,
  type StoredDecision,
  type StreamEvent,
  type Thread,
  type ThreadStore,
} from '@toolscript/core/protocol';
import { endsRun } from '@toolscript/core/stream';
import type { TableCalls } from './calls.js';
import { principalKey } from './change-board.js';
import { checkBatch, eventOfRun } from './event-batches.js';
import { parseShape, readCursor, writeCursor } from './shapes.js';
import { storeErrors } from './store-errors.js';
import { storedJson } from './stored-json.js';
import { openApproval, openApprovals, sealDecision, type DecisionSeal } from './sealed-decisions.js';
import { searchText } from './store-rules.js';
import type { SearchedThreads, ThreadFilters, ThreadSearch, TurnTexts } from './tables/thread-tables.js';
import { WorkSlices } from './work-slices.js';

/** Longer items, in UTF-16 units, are not kept, but folded again: the database holds one page of texts at a time. */
const MAX_KEPT = 1_048_576;

type Pause = ReturnType<WorkSlices['begin']>;

export class TableThreads implements ThreadStore {
  readonly #slices = new WorkSlices();

  constructor(
    readonly database: TableCalls,
    readonly now: () => number,
    readonly seal?: DecisionSeal | undefined,
  ) {}

  async create(draft: ThreadDraft): Promise<Thread> {
    return this.database.call('threads', 'create', parseShape(ThreadDraftSchema, draft, 'thread'), this.now());
  }

  async get(threadId: string, { principal }: OwnerFilter = {}): Promise<Thread | undefined> {
    return isStoreId(threadId) ? this.database.call('threads', 'get', threadId, encodedText(principal)) : undefined;
  }

  async list(query: ThreadQuery = {}): Promise<ThreadPage> {
    const { principal, workspace, text, state, ...page } = parseShape(ThreadQuerySchema, query, 'query');
    const after = page.after === undefined ? Number.MAX_SAFE_INTEGER : readCursor('thread', page.after);
    const { limit = DEFAULT_PAGE } = page;
    const filters = {
      principal: encodedText(principal),
      workspace: encodedText(workspace),
    };
    if (text !== undefined || state !== undefined)
      return this.#search({ searched: searchText(text ?? ''), state }, { filters, after, limit });
    const { threads, next } = await this.database.call('threads', 'list', {
      filters,
      after,
      limit,
    });
    return { threads, ...nextCursor('thread', next) };
  }

  async rename(threadId: string, title: string): Promise<Thread | undefined> {
    const text = parseShape(ThreadDraftSchema.shape.title.unwrap(), title, 'title');
    if (!isStoreId(threadId)) return undefined;
    const renamed = await this.database.call('threads', 'rename', threadId, text, this.now());
    if (renamed !== undefined) this.database.announce(principalKey(renamed.principal));
    return renamed;
  }

  async delete(threadId: string): Promise<readonly string[]> {
    if (!isStoreId(threadId)) return [];
    const { runIds, principal } = await this.database.call('threads', 'delete', threadId);
    for (const runId of runIds) this.database.announce(runId);
    if (principal !== undefined) this.database.announce(principalKey(principal));
    return runIds;
  }

  async instructions(threadId: string): Promise<ThreadInstructions | undefined> {
    return isStoreId(threadId) ? this.database.call('threads', 'instructions', threadId) : undefined;
  }

  async saveInstructions(threadId: string, instructions: ThreadInstructions, fence?: RunFence): Promise<void> {
    const parsed = parseShape(ThreadInstructionsSchema, instructions, 'instructions');
    const checked = parseShape(RunFenceSchema.optional(), fence, 'fence');
    if (!isStoreId(threadId)) throw storeErrors.notFound('thread', threadId);
    await this.database.call('threads', 'saveInstructions', threadId, parsed, checked, this.now());
  }

  async append(
    events: readonly StreamEvent[],
    { epoch }: { readonly epoch?: number | undefined } = {},
  ): Promise<number> {
    return this.database.call('threads', 'append', checkBatch(events), epoch, this.now());
  }

  async nextSeq(runId: string): Promise<number> {
    return isStoreId(runId) ? this.database.call('threads', 'nextSeq', runId) : 0;
  }

  async readEvents(runId: string, range: EventRange = {}): Promise<EventPage> {
    const checked = parseShape(EventRangeSchema, range, 'range');
    if (!isStoreId(runId)) return { events: [] };
    const { copiedTo, ...texts } = await this.database.call('threads', 'readEvents', runId, checked);
    const page = await readEventPage(texts, this.#slices.begin());
    return copiedTo === undefined
      ? page
      : {
          ...page,
          events: page.events.map((event) => eventOfRun(event, copiedTo)),
        };
  }

  async readItems(threadId: string, query: ItemQuery = {}): Promise<ItemPage> {
    const { after, limit = DEFAULT_PAGE } = parseShape(ItemQuerySchema, query, 'query');
    const position = after === undefined ? 0 : readCursor('turn', after);
    if (!isStoreId(threadId)) return { turns: [] };
    const page = await this.database.call('threads', 'readItems', threadId, position, limit);
    const pause = this.#slices.begin();
    const turns: TurnItems[] = [];
    for (const { content, ...turn } of page.turns)
      turns.push({
        ...turn,
        items: await this.#items({ content, ...turn }, pause),
      });
    return { turns, ...nextCursor('turn', page.next) };
  }

  async approval(approvalId: string, { principal }: OwnerFilter = {}): Promise<Approval | undefined> {
    if (!isStoreId(approvalId)) return undefined;
    const approval = await this.database.call('threads', 'approval', approvalId, encodedText(principal));
    return approval && openApproval(this.seal, approval);
  }

  async listApprovals(query: ApprovalQuery = {}): Promise<ApprovalPage> {
    const { state, principal, threadId, runId, ...page } = parseShape(ApprovalQuerySchema, query, 'query');
    const after = page.after === undefined ? 0 : readCursor('approval', page.after);
    if (![threadId, runId].every(isAbsentOrStoreId)) return { approvals: [] };
    const { approvals, next } = await this.database.call('threads', 'listApprovals', {
      filters: {
        state,
        principal: encodedText(principal),
        thread_id: threadId,
        run_id: runId,
      },
      after,
      limit: page.limit ?? DEFAULT_PAGE,
    });
    return {
      approvals: openApprovals(this.seal, approvals),
      ...nextCursor('approval', next),
    };
  }

  async decide(approvalId: string, decision: StoredDecision, by: string): Promise<DecidedApproval | undefined> {
    const parsed = parseShape(DecisionSchema, decision, 'decision');
    if (!isStoreId(approvalId)) return undefined;
    const sealed = sealDecision(this.seal, approvalId, {
      decision: parsed,
      by,
    });
    const decided = await this.database.call('threads', 'decide', approvalId, sealed, by, this.now());
    if (decided === undefined) return undefined;
    this.#announce(decided.approval);
    return { ...decided, approval: openApproval(this.seal, decided.approval) };
  }

  async expireApprovals(): Promise<readonly Approval[]> {
    const expired = await this.database.call('threads', 'expireApprovals', this.now());
    for (const approval of expired) this.#announce(approval);
    return expired;
  }

  /** Searches a few threads at a time, so that other calls get a turn. */
  async #search(search: ThreadSearch, { limit, ...query }: ThreadFilters): Promise<ThreadPage> {
    const all: { thread: Thread; changed: number }[] = [];
    for (let from: number | undefined = query.after; from !== undefined && all.length <= limit;) {
      const part: SearchedThreads = await this.database.call('threads', 'search', search, { ...query, after: from });
      all.push(...part.found);
      from = part.next;
    }
    const next = all.length > limit ? all[limit - 1]!.changed : undefined;
    return {
      threads: all.slice(0, limit).map(({ thread }) => thread),
      ...nextCursor('thread', next),
    };
  }

  async #items({ content, ...turn }: TurnTexts, pause: Pause): Promise<readonly OutputItem[]> {
    return 'input' in content ? this.#fold(turn, content, pause) : parseAll(textLines(content.items), pause);
  }

  async #fold(
    { runId, state }: Omit<TurnTexts, 'content'>,
    { input, events }: Extract<TurnTexts['content'], { input: unknown }>,
    pause: Pause,
  ): Promise<readonly OutputItem[]> {
    const fold = new RunItems(await parseAll<OutputItem>(input, pause));
    let last: StreamEvent | undefined;
    for (
      let page = events;
      ;
      page = await this.database.call('threads', 'readEvents', runId, {
        from: page.next,
      })
    ) {
      for (const text of page.texts) {
        last = storedJson(text) as StreamEvent;
        fold.apply(last);
        await pause(text.length);
      }
      if (page.next === undefined) break;
    }
    const { items } = fold;
    // The reader does not wait for it. If it fails, the next reader folds again.
    if (last !== undefined && isFinalRunState(state) && endsRun(last.payload))
      void this.#keep(runId, items, { eventCount: last.seq + 1, pause }).catch(() => {});
    return items;
  }

  async #keep(
    runId: string,
    items: readonly OutputItem[],
    { eventCount, pause }: { readonly eventCount: number; readonly pause: Pause },
  ): Promise<void> {
    const lines: string[] = [];
    let length = 0;
    for (const item of items) {
      const line = JSON.stringify(item);
      lines.push(line);
      length += line.length;
      if (length > MAX_KEPT) return;
      await pause(line.length);
    }
    await this.database.call('threads', 'keepItems', {
      runId,
      items: lines.join('\n'),
      eventCount,
    });
  }

  #announce({ runId, principal }: Approval): void {
    this.database.announce(runId);
    this.database.announce(principalKey(principal));
  }
}

/** The lines of a text, without a list of all of them. */
function* textLines(text: string): Generator<string> {
  for (let start = 0; start < text.length;) {
    const found = text.indexOf('\n', start);
    const end = found === -1 ? text.length : found;
    yield text.slice(start, end);
    start = end + 1;
  }
}

/** Whether a text is a valid id. SQLite may end a text at a NUL, so invalid ids never reach it. */
export function isStoreId(id: string): boolean {
  return StoreIdSchema.safeParse(id).success;
}

export function isAbsentOrStoreId(id: string | undefined): boolean {
  return id === undefined || isStoreId(id);
}

export function encodedText(text: string | undefined): string | undefined {
  return text === undefined ? undefined : JSON.stringify(text);
}

export function nextCursor(kind: string, next: number | undefined): { next?: string | undefined } {
  return next === undefined ? {} : { next: writeCursor(kind, next) };
}

/** Parses the events of a page, in slices. */
export async function readEventPage(
  { texts, next }: { texts: readonly string[]; next: number | undefined },
  pause: Pause,
): Promise<EventPage> {
  const events = await parseAll<StreamEvent>(texts, pause);
  return { events, ...(next === undefined ? {} : { next }) };
}

async function parseAll<Value>(texts: Iterable<string>, pause: Pause): Promise<Value[]> {
  const values: Value[] = [];
  for (const text of texts) {
    values.push(storedJson(text) as Value);
    await pause(text.length);
  }
  return values;
}
