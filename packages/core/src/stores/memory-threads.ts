import {
  storeErrors,
  ApprovalQuerySchema,
  checkBatch,
  DecisionSchema,
  inputText,
  ItemQuerySchema,
  pageOfEvents,
  parseShape,
  placeEvents,
  searchText,
  ThreadDraftSchema,
  ThreadInstructionsSchema,
  ThreadQuerySchema,
  type Approval,
  type ApprovalPage,
  type ApprovalQuery,
  type DecidedApproval,
  type EventPage,
  type EventRange,
  type ItemPage,
  type ItemQuery,
  type RunFence,
  type StoredDecision,
  type StreamEvent,
  type Thread,
  type ThreadDraft,
  type ThreadInstructions,
  type ThreadPage,
  type ThreadQuery,
  type ThreadStore,
} from '../protocol/index.js';
import { runItems } from '../history/index.js';
import { newStoreId, notFound, pageOf, type ApprovalRecord, type MemoryDatabase } from './memory-database.js';

export class MemoryThreads implements ThreadStore {
  constructor(readonly database: MemoryDatabase) {}

  async create(draft: ThreadDraft): Promise<Thread> {
    const parsed = parseShape(ThreadDraftSchema, draft, 'thread');
    if (this.database.threads.has(parsed.threadId ?? '')) throw storeErrors.idExists('thread', parsed.threadId!);
    return structuredClone(addThread(this.database, parsed));
  }

  async get(threadId: string): Promise<Thread | undefined> {
    return structuredClone(this.database.threads.get(threadId)?.thread);
  }

  async list(query: ThreadQuery = {}): Promise<ThreadPage> {
    const { principal, workspace, text, ...page } = parseShape(ThreadQuerySchema, query, 'query');
    const found = [...this.database.threads.values()].filter(
      ({ thread }) =>
        (principal ?? thread.principal) === thread.principal &&
        (workspace ?? thread.workspace) === thread.workspace &&
        (text === undefined || this.#holdsText(thread, searchText(text))),
    );
    const options = { kind: 'thread', isDescending: true, ...page };
    const { rows, ...rest } = pageOf(found, ({ order }) => order, options);
    return { threads: rows.map(({ thread }) => structuredClone(thread)), ...rest };
  }

  async rename(threadId: string, title: string): Promise<Thread | undefined> {
    const text = parseShape(ThreadDraftSchema.shape.title.unwrap(), title, 'title');
    const record = this.database.threads.get(threadId);
    if (record === undefined) return undefined;
    record.thread.title = text;
    this.database.touch(threadId);
    return structuredClone(record.thread);
  }

  async delete(threadId: string): Promise<readonly string[]> {
    const { threads, runs, approvals, requests } = this.database;
    const runIds = this.database.runsOf(threadId).map(({ run }) => run.runId);
    threads.delete(threadId);
    for (const runId of runIds) runs.delete(runId);
    for (const [id, { approval }] of approvals) if (approval.threadId === threadId) approvals.delete(id);
    for (const [key, { runId }] of requests) if (runIds.includes(runId)) requests.delete(key);
    this.database.board.announce();
    return runIds;
  }

  async instructions(threadId: string): Promise<ThreadInstructions | undefined> {
    return structuredClone(this.database.threads.get(threadId)?.instructions);
  }

  async saveInstructions(threadId: string, instructions: ThreadInstructions, fence?: RunFence): Promise<void> {
    const parsed = parseShape(ThreadInstructionsSchema, instructions, 'instructions');
    if (fence !== undefined) this.database.held(fence);
    const record = this.database.threads.get(threadId);
    if (record === undefined) throw notFound('thread', threadId);
    record.instructions = structuredClone(parsed);
    record.thread.agentId = parsed.agentId;
    this.database.touch(threadId);
  }

  async append(events: readonly StreamEvent[], { epoch }: { readonly epoch?: number } = {}): Promise<number> {
    const batch = checkBatch(events);
    const runId = batch.runId;
    if (epoch !== undefined) this.database.held({ runId, epoch });
    const record = this.database.runs.get(runId);
    if (record === undefined) throw notFound('run', runId);
    const added = placeEvents(batch, record.events.length, (seq) => record.events[seq]);
    record.events.push(...added);
    if (added.length > 0) this.database.touch(record.run.threadId);
    return record.events.length;
  }

  async readEvents(runId: string, range: EventRange = {}): Promise<EventPage> {
    return pageOfEvents(this.database.runs.get(runId)?.events ?? [], range);
  }

  async readItems(threadId: string, query: ItemQuery = {}): Promise<ItemPage> {
    const page = parseShape(ItemQuerySchema, query, 'query');
    const records = this.database.runsOf(threadId);
    const { rows, ...rest } = pageOf(records, ({ position }) => position, { kind: 'turn', ...page });
    const turns = rows.map(({ run: { turnId, runId, state, createdAt }, turn, events }) => ({
      turnId,
      runId,
      state,
      createdAt,
      items: structuredClone(runItems(turn.input, events.map(parseEvent))),
    }));
    return { turns, ...rest };
  }

  async approval(approvalId: string): Promise<Approval | undefined> {
    return structuredClone(this.database.approvals.get(approvalId)?.approval);
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
    const { rows, ...rest } = pageOf(found, ({ position }) => position, { kind: 'approval', ...page });
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
    return { approval: structuredClone(record.approval), isWinner, isRunQueued };
  }

  async expireApprovals(): Promise<readonly Approval[]> {
    const expired = [...this.database.approvals.values()].filter((record) => this.#isExpired(record));
    for (const record of expired) this.database.settle(record, 'expired');
    for (const { approval } of expired) this.database.queueIfDecided(approval.runId);
    return expired.map(({ approval }) => structuredClone(approval));
  }

  #isExpired({ approval: { state, expiresAt } }: ApprovalRecord): boolean {
    return state === 'pending' && expiresAt !== undefined && expiresAt <= this.database.now();
  }

  #holdsText({ threadId, title }: Thread, wanted: string): boolean {
    if (searchText(title).includes(wanted)) return true;
    return this.database.runsOf(threadId).some(({ turn }) => searchText(inputText(turn.input)).includes(wanted));
  }
}

/** The thread must not exist. */
export function addThread(database: MemoryDatabase, draft: ReturnType<typeof ThreadDraftSchema.parse>): Thread {
  const { threadId = newStoreId('thr'), title = '', workspace = '', principal, agentId, createdAt } = draft;
  const now = database.now();
  const agent = agentId === undefined ? {} : { agentId };
  const thread = { threadId, principal, title, workspace, ...agent, createdAt: createdAt ?? now, updatedAt: now };
  database.threads.set(threadId, { thread, order: database.nextPosition(), instructions: undefined });
  return thread;
}

function parseEvent(text: string): StreamEvent {
  return JSON.parse(text) as StreamEvent;
}
