import {
  ApprovalDraftSchema,
  ClaimOptionsSchema,
  RunEndSchema,
  RunQuerySchema,
  type ApprovalDraft,
  type ClaimedRun,
  type ClaimOptions,
  type CreatedRun,
  type OwnerFilter,
  type Renewal,
  type RunEnd,
  type RunPage,
  type RunQuery,
  type RunWatchOptions,
  type WorkerNotice,
  DEFAULT_PAGE,
  WorkerNoticeSchema,
} from '@toolscript/core/ports';
import {
  RunDraftSchema,
  RunFenceSchema,
  RunSchema,
  type Run,
  type RunDraft,
  type RunFence,
  type RunStore,
} from '@toolscript/core/protocol';
import type { TableCalls } from './calls.js';
import { encodedText, isAbsentOrStoreId, isStoreId, nextCursor } from './table-threads.js';
import { principalKey, watchBoard } from './change-board.js';
import { parseShape, readCursor } from './shapes.js';
import { openApprovals, sealDecision, type DecisionSeal } from './sealed-decisions.js';
import { requestText } from './store-rules.js';

export class TableRuns implements RunStore {
  constructor(
    readonly database: TableCalls,
    readonly now: () => number,
    readonly seal?: DecisionSeal | undefined,
  ) {}

  async create(draft: RunDraft): Promise<CreatedRun> {
    const parsed = parseShape(RunDraftSchema, draft, 'run');
    const created = await this.database.call('runs', 'create', parsed, requestText(parsed), this.now());
    this.#announce(created.run);
    return created;
  }

  async get(runId: string, { principal }: OwnerFilter = {}): Promise<Run | undefined> {
    return isStoreId(runId) ? this.database.call('runs', 'get', runId, encodedText(principal)) : undefined;
  }

  async claim(options: ClaimOptions): Promise<ClaimedRun | undefined> {
    const parsed = parseShape(ClaimOptionsSchema, options, 'claim');
    const claimed = await this.database.call('runs', 'claim', parsed, this.now());
    if (claimed === undefined) return undefined;
    // Workers need not look for a run that has been claimed.
    this.database.announce(principalKey(claimed.run.principal));
    return { ...claimed, approvals: openApprovals(this.seal, claimed.approvals) };
  }

  async renew(
    fence: RunFence,
    leaseMs: number,
    { hasProgressed = false }: { hasProgressed?: boolean | undefined } = {},
  ): Promise<Renewal> {
    const length = parseShape(ClaimOptionsSchema.shape.leaseMs, leaseMs, 'leaseMs');
    return this.database.call('runs', 'renew', checkedFence(fence), length, hasProgressed, this.now());
  }

  async release(fence: RunFence, { isDead = false }: { isDead?: boolean | undefined } = {}): Promise<void> {
    this.#announce(await this.database.call('runs', 'release', checkedFence(fence), isDead, this.now()));
  }

  async suspend(fence: RunFence, approvals: readonly ApprovalDraft[]): Promise<Run> {
    const parsed = parseShape(ApprovalDraftSchema.array().min(1), approvals, 'approvals');
    const drafts = parsed.map(({ request, decided }) => ({
      request,
      ...(decided && {
        decided: { by: decided.by, decision: sealDecision(this.seal, request.approvalId, decided) },
      }),
    }));
    return this.#announce(await this.database.call('runs', 'suspend', checkedFence(fence), drafts, this.now()));
  }

  async park(fence: RunFence, reason: string): Promise<Run> {
    const parked = parseShape(RunSchema.shape.parked.unwrap(), reason, 'reason');
    return this.#announce(await this.database.call('runs', 'park', checkedFence(fence), parked, this.now()));
  }

  async resume(runId: string): Promise<Run | undefined> {
    if (!isStoreId(runId)) return undefined;
    return this.#announce(await this.database.call('runs', 'resume', runId, this.now()));
  }

  async announce(worker: WorkerNotice): Promise<void> {
    const parsed = parseShape(WorkerNoticeSchema, worker, 'worker');
    await this.database.call('runs', 'announce', parsed, this.now());
  }

  async withdraw(workerId: string): Promise<void> {
    await this.database.call('runs', 'withdraw', workerId);
  }

  workers(): Promise<readonly WorkerNotice[]> {
    return this.database.call('runs', 'workers', this.now());
  }

  async probe(): Promise<void> {
    await this.database.call('runs', 'probe');
  }

  async finish(fence: RunFence, end: RunEnd): Promise<Run> {
    const parsed = parseShape(RunEndSchema, end, 'end');
    return this.#announce(await this.database.call('runs', 'finish', checkedFence(fence), parsed, this.now()));
  }

  async requestCancel(runId: string): Promise<Run | undefined> {
    if (!isStoreId(runId)) return undefined;
    return this.#announce(await this.database.call('runs', 'requestCancel', runId, this.now()));
  }

  async list(query: RunQuery = {}): Promise<RunPage> {
    const { state, principal, threadId, stuck, ...page } = parseShape(RunQuerySchema, query, 'query');
    const after = page.after === undefined ? 0 : readCursor('run', page.after);
    if (!isAbsentOrStoreId(threadId)) return { runs: [] };
    const filters = { state, principal: encodedText(principal), thread_id: threadId };
    const limit = page.limit ?? DEFAULT_PAGE;
    const { runs, next } = await this.database.call('runs', 'list', { filters, stuck, after, limit, now: this.now() });
    return { runs, ...nextCursor('run', next) };
  }

  watch(options: RunWatchOptions): AsyncIterable<void> {
    return watchBoard(this.database.board, options);
  }

  /** Announces a change of the run, and returns the run. */
  #announce<Changed extends Run | undefined>(run: Changed): Changed {
    if (run === undefined) return run;
    this.database.announce(run.runId);
    this.database.announce(principalKey(run.principal));
    return run;
  }
}

function checkedFence(fence: RunFence): RunFence {
  return parseShape(RunFenceSchema, fence, 'fence');
}
