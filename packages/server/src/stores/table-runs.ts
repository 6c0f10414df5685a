import {
  ApprovalDraftSchema,
  ClaimOptionsSchema,
  DEFAULT_PAGE,
  parseShape,
  readCursor,
  requestText,
  RunDraftSchema,
  RunEndSchema,
  RunFenceSchema,
  RunQuerySchema,
  watchBoard,
  type ApprovalDraft,
  type ClaimedRun,
  type ClaimOptions,
  type CreatedRun,
  type Renewal,
  type Run,
  type RunDraft,
  type RunEnd,
  type RunFence,
  type RunPage,
  type RunQuery,
  type RunStore,
  type WatchOptions,
} from '@toolscript/core/protocol';
import type { TableCalls } from './calls.js';
import { encoded, isAbsentOrStoreId, isStoreId, nextCursor } from './table-threads.js';

export class TableRuns implements RunStore {
  constructor(
    readonly database: TableCalls,
    readonly now: () => number,
  ) {}

  async create(draft: RunDraft): Promise<CreatedRun> {
    const parsed = parseShape(RunDraftSchema, draft, 'run');
    const created = await this.database.call('runs', 'create', parsed, requestText(parsed), this.now());
    this.database.announce(created.run.runId);
    return created;
  }

  async get(runId: string): Promise<Run | undefined> {
    return isStoreId(runId) ? this.database.call('runs', 'get', runId) : undefined;
  }

  async claim(options: ClaimOptions): Promise<ClaimedRun | undefined> {
    return this.database.call('runs', 'claim', parseShape(ClaimOptionsSchema, options, 'claim'), this.now());
  }

  async renew(fence: RunFence, leaseMs: number): Promise<Renewal> {
    const length = parseShape(ClaimOptionsSchema.shape.leaseMs, leaseMs, 'leaseMs');
    return this.database.call('runs', 'renew', checkedFence(fence), length, this.now());
  }

  async release(fence: RunFence): Promise<void> {
    await this.#announced(fence.runId, this.database.call('runs', 'release', checkedFence(fence), this.now()));
  }

  async suspend(fence: RunFence, approvals: readonly ApprovalDraft[]): Promise<Run> {
    const drafts = parseShape(ApprovalDraftSchema.array().min(1), approvals, 'approvals');
    return this.#announced(fence.runId, this.database.call('runs', 'suspend', checkedFence(fence), drafts, this.now()));
  }

  async finish(fence: RunFence, end: RunEnd): Promise<Run> {
    const parsed = parseShape(RunEndSchema, end, 'end');
    return this.#announced(fence.runId, this.database.call('runs', 'finish', checkedFence(fence), parsed, this.now()));
  }

  async requestCancel(runId: string): Promise<Run | undefined> {
    if (!isStoreId(runId)) return undefined;
    return this.#announced(runId, this.database.call('runs', 'requestCancel', runId, this.now()));
  }

  async list(query: RunQuery = {}): Promise<RunPage> {
    const { state, principal, threadId, ...page } = parseShape(RunQuerySchema, query, 'query');
    const after = page.after === undefined ? 0 : readCursor('run', page.after);
    if (!isAbsentOrStoreId(threadId)) return { runs: [] };
    const filters = { state, principal: encoded(principal), thread_id: threadId };
    const limit = page.limit ?? DEFAULT_PAGE;
    const { runs, next } = await this.database.call('runs', 'list', { filters, after, limit });
    return { runs, ...nextCursor('run', next) };
  }

  watch(options: WatchOptions): AsyncIterable<void> {
    return watchBoard(this.database.board, options);
  }

  async #announced<Value>(runId: string, call: Promise<Value>): Promise<Value> {
    const value = await call;
    this.database.announce(runId);
    return value;
  }
}

function checkedFence(fence: RunFence): RunFence {
  return parseShape(RunFenceSchema, fence, 'fence');
}
