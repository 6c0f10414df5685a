import {
  DecisionSchema,
  type Approval,
  type BranchPoint,
  type RunFence,
  type StoredDecision,
  type StreamEvent,
  type Thread,
  type ThreadStore,
} from '@toolscript/core/protocol';
import { present } from '@toolscript/core/internal';
import {
  ApprovalQuerySchema,
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
} from '@toolscript/core/ports';
import { runItems } from '@toolscript/core/history';
import {
  isFinal,
  isOwned,
  notFound,
  memoryPage,
  type ApprovalRecord,
  type MemoryDatabase,
  type RunRecord,
  type ThreadRecord,
} from './memory-database.js';
import { principalKey } from '../change-board.js';
import { checkBatch, eventOfRun, pageOfEvents, placeEvents } from '../event-batches.js';
import { parseShape } from '../shapes.js';
import { storeErrors } from '../store-errors.js';
import {
  addedSearchText,
  eventText,
  isInState,
  MAX_TURN_SEARCHED,
  newStoreId,
  inputText,
  searchText,
} from '../store-rules.js';

export class MemoryThreads implements ThreadStore {
  constructor(readonly database: MemoryDatabase) {}

  async create(draft: ThreadDraft): Promise<Thread> {
    const parsed = parseShape(ThreadDraftSchema, draft, 'thread');
    if (this.database.threads.has(parsed.threadId ?? '')) throw storeErrors.idExists('thread', parsed.threadId!);
    return this.database.threadView(addThread(this.database, parsed));
  }

  async get(threadId: string, owner?: OwnerFilter): Promise<Thread | undefined> {
    const record = this.database.threads.get(threadId);
    return record && isOwned(record.thread, owner) ? this.database.threadView(record) : undefined;
  }

  async list(query: ThreadQuery = {}): Promise<ThreadPage> {
    const { principal, workspace, text, state, ...page } = parseShape(ThreadQuerySchema, query, 'query');
    const found = [...this.database.threads.values()].filter(
      (record) =>
        (principal ?? record.thread.principal) === record.thread.principal &&
        (workspace ?? record.thread.workspace) === record.thread.workspace &&
        isInState(this.database.threadView(record), state) &&
        (text === undefined || this.#holdsText(record.thread, searchText(text))),
    );
    const options = { kind: 'thread', isDescending: true, ...page };
    const { rows, ...rest } = memoryPage(found, ({ order }) => order, options);
    return { threads: rows.map((record) => this.database.threadView(record)), ...rest };
  }

  async rename(threadId: string, title: string): Promise<Thread | undefined> {
    const text = parseShape(ThreadDraftSchema.shape.title.unwrap(), title, 'title');
    const record = this.database.threads.get(threadId);
    if (record === undefined) return undefined;
    record.thread.title = text;
    this.database.touch(threadId);
    this.database.board.announce(principalKey(record.thread.principal));
    return this.database.threadView(record);
  }

  async delete(threadId: string): Promise<readonly string[]> {
    const { threads, runs, approvals, requests } = this.database;
    const runIds = this.database.threadRuns(threadId).map(({ run }) => run.runId);
    const principal = threads.get(threadId)?.thread.principal;
    threads.delete(threadId);
    this.database.documents.deleteThread(threadId);
    for (const runId of runIds) runs.delete(runId);
    for (const [id, { approval }] of approvals) if (approval.threadId === threadId) approvals.delete(id);
    for (const [key, { runId }] of requests) if (runIds.includes(runId)) requests.delete(key);
    if (principal !== undefined) await this.database.heaps.deleteThread(threadId);
    for (const runId of runIds) this.database.board.announce(runId);
    if (principal !== undefined) this.database.board.announce(principalKey(principal));
    return runIds;
  }

  async instructions(threadId: string): Promise<ThreadInstructions | undefined> {
    return structuredClone(this.database.threads.get(threadId)?.instructions);
  }

  async saveInstructions(threadId: string, instructions: ThreadInstructions, fence?: RunFence): Promise<void> {
    const parsed = parseShape(ThreadInstructionsSchema, instructions, 'instructions');
    if (fence !== undefined) this.database.fencedRun(fence);
    const record = this.database.threads.get(threadId);
    if (record === undefined) throw notFound('thread', threadId);
    record.instructions = structuredClone(parsed);
    record.thread.agentId = parsed.agentId;
    this.database.touch(threadId);
  }

  async append(
    events: readonly StreamEvent[],
    { epoch }: { readonly epoch?: number | undefined } = {},
  ): Promise<number> {
    const batch = checkBatch(events);
    const runId = batch.runId;
    if (epoch !== undefined) this.database.fencedRun({ runId, epoch });
    const record = this.database.runs.get(runId);
    if (record === undefined) throw notFound('run', runId);
    if (record.run.isCopy === true) throw storeErrors.eventOfCopy(runId);
    const added = placeEvents(batch, record.events.length, (seq) => record.events[seq]);
    record.events.push(...added);
    if (added.length > 0) this.database.touch(record.run.threadId);
    return record.events.length;
  }

  async nextSeq(runId: string): Promise<number> {
    return this.database.runs.get(runId)?.events.length ?? 0;
  }

  async readEvents(runId: string, range: EventRange = {}): Promise<EventPage> {
    const record = this.database.runs.get(runId);
    const page = pageOfEvents(record?.events ?? [], range);
    return record?.run.isCopy === true
      ? { ...page, events: page.events.map((event) => eventOfRun(event, record.turn)) }
      : page;
  }

  async readItems(threadId: string, query: ItemQuery = {}): Promise<ItemPage> {
    const page = parseShape(ItemQuerySchema, query, 'query');
    const records = this.database.threadRuns(threadId);
    const { rows, ...rest } = memoryPage(records, ({ position }) => position, { kind: 'turn', ...page });
    const turns = rows.map(({ run: { turnId, runId, state, createdAt, cancelRequestedAt }, turn, events }) => ({
      turnId,
      runId,
      state,
      createdAt,
      ...present({ cancelRequestedAt }),
      items: structuredClone(runItems(turn.input, events.map(parseEvent))),
    }));
    return { turns, ...rest };
  }

  async approval(approvalId: string, owner?: OwnerFilter): Promise<Approval | undefined> {
    const approval = this.database.approvals.get(approvalId)?.approval;
    return approval && isOwned(approval, owner) ? structuredClone(approval) : undefined;
  }

  async listApprovals(query: ApprovalQuery = {}): Promise<ApprovalPage> {
    const { state, principal, threadId, runId, ...page } = parseShape(ApprovalQuerySchema, query, 'query');
    const found = [...this.database.approvals.values()].filter(
      ({ approval }) =>
        (state ?? approval.state) === approval.state &&
        (principal ?? approval.principal) === approval.principal &&
        (threadId ?? approval.threadId) === approval.threadId &&
        (runId ?? approval.runId) === approval.runId,
    );
    const { rows, ...rest } = memoryPage(found, ({ position }) => position, { kind: 'approval', ...page });
    return { approvals: rows.map(({ approval }) => structuredClone(approval)), ...rest };
  }

  async decide(approvalId: string, decision: StoredDecision, by: string): Promise<DecidedApproval | undefined> {
    const parsed = parseShape(DecisionSchema, decision, 'decision');
    const record = this.database.approvals.get(approvalId);
    if (record === undefined) return undefined;
    const isExpired = this.#isExpired(record);
    const isWinner = record.approval.state === 'pending' && !isExpired;
    if (isWinner) this.database.settle(record, { decision: parsed, by });
    else if (isExpired) this.database.settle(record, 'expired');
    const isRunQueued = (isWinner || isExpired) && this.database.queueIfDecided(record.approval.runId);
    this.database.announce(record.approval);
    return { approval: structuredClone(record.approval), isWinner, isRunQueued };
  }

  async expireApprovals(): Promise<readonly Approval[]> {
    const expired = [...this.database.approvals.values()].filter((record) => this.#isExpired(record));
    for (const record of expired) this.database.settle(record, 'expired');
    for (const { approval } of expired) this.database.queueIfDecided(approval.runId);
    for (const { approval } of expired) this.database.announce(approval);
    return expired.map(({ approval }) => structuredClone(approval));
  }

  #isExpired({ approval: { state, expiresAt } }: ApprovalRecord): boolean {
    return state === 'pending' && expiresAt !== undefined && expiresAt <= this.database.now();
  }

  #holdsText({ threadId, title }: Thread, wanted: string): boolean {
    if (searchText(title).includes(wanted)) return true;
    return this.database.threadRuns(threadId).some(({ turn, events }) => {
      const added = addedSearchText(events.map((event) => eventText(parseEvent(event))));
      const searched = [...(searchText(inputText(turn.input)) + added)].slice(0, MAX_TURN_SEARCHED);
      return searched.join('').includes(wanted);
    });
  }
}

/** Adds a thread, whose id must be new. */
export function addThread(database: MemoryDatabase, draft: ReturnType<typeof ThreadDraftSchema.parse>): ThreadRecord {
  const { threadId = newStoreId('thr'), principal, branchOf } = draft;
  const branch = branchOf === undefined ? undefined : branchAt(database, principal, branchOf);
  const { title = '', workspace = '', agentId } = { ...branch?.source.thread, ...present(draft) };
  const now = database.now();
  const thread: Thread = {
    threadId,
    principal,
    title,
    workspace,
    ...present({ agentId, branchOf }),
    createdAt: now,
    updatedAt: now,
  };
  const instructions = structuredClone(branch?.source.instructions);
  const record = { thread, order: database.nextPosition(), instructions };
  database.threads.set(threadId, record);
  for (const copied of branch?.runs ?? []) copyRun(database, copied, thread);
  if (branch !== undefined) database.documents.copyThread(branch.source.thread.threadId, threadId, branch.createdAt);
  return record;
}

/**
 * The thread from which a branch starts, the runs that the branch copies, and the time at which the first run that it
 * does not copy was created.
 */
function branchAt(database: MemoryDatabase, principal: string, { threadId, turnId, withTurn = false }: BranchPoint) {
  const source = database.threads.get(threadId);
  if (source?.thread.principal !== principal) throw notFound('thread', threadId);
  const runs = database.threadRuns(threadId);
  const index = runs.findIndex(({ turn }) => turn.turnId === turnId);
  if (index === -1) throw notFound('turn', turnId);
  const end = withTurn ? index + 1 : index;
  const earlier = runs.slice(0, end);
  const open = earlier.find((record) => !isFinal(record));
  if (open !== undefined) throw storeErrors.turnNotEnded(open.turn.turnId);
  return { source, runs: earlier, createdAt: runs[end]?.run.createdAt ?? Infinity };
}

function copyRun(database: MemoryDatabase, { run, turn, events }: RunRecord, { threadId, workspace }: Thread): void {
  const ids = { runId: newStoreId('run'), turnId: newStoreId('turn'), threadId };
  database.runs.set(ids.runId, {
    run: structuredClone({ ...run, ...ids, workspace, isCopy: true }),
    turn: { ...turn, ...ids },
    position: database.nextPosition(),
    leaseMs: 0,
    events,
  });
}

function parseEvent(text: string): StreamEvent {
  return JSON.parse(text) as StreamEvent;
}
