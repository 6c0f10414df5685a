import { setImmediate as nextTurn } from 'node:timers/promises';
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
import type { TableCalls } from './calls.js';
import { principalKey } from './change-board.js';
import { checkBatch, eventOfRun } from './event-batches.js';
import { parseShape, readCursor, writeCursor } from './shapes.js';
import { storeErrors } from './store-errors.js';
import { openApproval, openApprovals, sealDecision, type DecisionSeal } from './sealed-decisions.js';
import { searchText } from './store-rules.js';

/** Items are parsed without a pause until their texts have this length, in UTF-16 units. */
const MAX_SLICE = 65_536;

export class TableThreads implements ThreadStore {
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
    const { principal, workspace, text, ...page } = parseShape(ThreadQuerySchema, query, 'query');
    const after = page.after === undefined ? Number.MAX_SAFE_INTEGER : readCursor('thread', page.after);
    const { threads, next } = await this.database.call('threads', 'list', {
      filters: { principal: encodedText(principal), workspace: encodedText(workspace) },
      searched: text === undefined ? undefined : searchText(text),
      after,
      limit: page.limit ?? DEFAULT_PAGE,
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
    const page = readEventPage(texts);
    return copiedTo === undefined ? page : { ...page, events: page.events.map((event) => eventOfRun(event, copiedTo)) };
  }

  async readItems(threadId: string, query: ItemQuery = {}): Promise<ItemPage> {
    const { after, limit = DEFAULT_PAGE } = parseShape(ItemQuerySchema, query, 'query');
    const position = after === undefined ? 0 : readCursor('turn', after);
    if (!isStoreId(threadId)) return { turns: [] };
    const page = await this.database.call('threads', 'readItems', threadId, position, limit);
    const turns: TurnItems[] = [];
    let length = 0;
    for (const turn of page.turns) {
      const items: OutputItem[] = [];
      for (const line of linesOf(turn.items)) {
        items.push(JSON.parse(line) as OutputItem);
        length += line.length;
        if (length < MAX_SLICE) continue;
        // A long page must not block the main thread.
        length = 0;
        await nextTurn();
      }
      turns.push({ ...turn, items });
    }
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
      filters: { state, principal: encodedText(principal), thread_id: threadId, run_id: runId },
      after,
      limit: page.limit ?? DEFAULT_PAGE,
    });
    return { approvals: openApprovals(this.seal, approvals), ...nextCursor('approval', next) };
  }

  async decide(approvalId: string, decision: StoredDecision, by: string): Promise<DecidedApproval | undefined> {
    const parsed = parseShape(DecisionSchema, decision, 'decision');
    if (!isStoreId(approvalId)) return undefined;
    const sealed = sealDecision(this.seal, approvalId, { decision: parsed, by });
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

  #announce({ runId, principal }: Approval): void {
    this.database.announce(runId);
    this.database.announce(principalKey(principal));
  }
}

/** The lines of a text, without a list of all of them. */
function* linesOf(text: string): Generator<string> {
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

export function readEventPage({ texts, next }: { texts: readonly string[]; next: number | undefined }): EventPage {
  return { events: texts.map((text) => JSON.parse(text) as StreamEvent), ...(next === undefined ? {} : { next }) };
}
