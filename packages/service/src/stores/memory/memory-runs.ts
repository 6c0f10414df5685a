import {
  RunDraftSchema,
  RunFenceSchema,
  RunSchema,
  type ToolscriptUsageError,
  type Run,
  type RunDraft,
  type RunFence,
  type RunStore,
} from '@toolscript/core/protocol';
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
  WorkerNoticeSchema,
} from '@toolscript/core/ports';
import {
  isFinal,
  isOwned,
  notFound,
  memoryPage,
  reasonAfter,
  type MemoryDatabase,
  type RunRecord,
} from './memory-database.js';
import { addThread } from './memory-threads.js';
import { principalKey, watchBoard } from '../change-board.js';
import { parseShape } from '../shapes.js';
import { storeErrors } from '../store-errors.js';
import { checkBounds, newStoreId, fairShares, isLeaseHeld, requestText } from '../store-rules.js';

export class MemoryRuns implements RunStore {
  constructor(readonly database: MemoryDatabase) {}

  async create(draft: RunDraft): Promise<CreatedRun> {
    const request = parseShape(RunDraftSchema, draft, 'run');
    const known = this.#knownRequest(request);
    if (known !== undefined) return createdRun(known, false);
    this.#refuseTaken(request);
    this.#refuseFull(request);
    const threadId = this.#draftThread(request);
    const record = newRecord(this.database, threadId, request);
    this.database.runs.set(record.run.runId, record);
    this.database.touch(threadId);
    if (request.idempotencyKey !== undefined)
      this.database.requests.set(requestKey(request), { text: requestText(draft), runId: record.run.runId });
    if (request.claim !== undefined) this.#hold(record, request.claim);
    this.database.announce(record.run);
    return createdRun(record, true);
  }

  async get(runId: string, owner?: OwnerFilter): Promise<Run | undefined> {
    const run = this.database.runs.get(runId)?.run;
    return run && isOwned(run, owner) ? structuredClone(run) : undefined;
  }

  async claim(options: ClaimOptions): Promise<ClaimedRun | undefined> {
    const claim = parseShape(ClaimOptionsSchema, options, 'claim');
    const { workspaces, opens, needs = [], runId, evenSuspended, maxPerPrincipal, isAfterFault, ...lease } = claim;
    const workers = this.#liveWorkers();
    const isResumed = evenSuspended === true && runId !== undefined;
    const candidates = [...this.database.runs.values()].filter(
      (candidate) =>
        this.#isClaimable(candidate, isResumed) &&
        (workspaces?.includes(candidate.run.workspace) ?? true) &&
        (opens === undefined || isOpenedBy(candidate, opens) || this.#needsNothing(candidate, workers)) &&
        (runId ?? candidate.run.runId) === candidate.run.runId,
    );
    const record = runId === undefined ? this.#fairest(candidates, maxPerPrincipal) : candidates[0];
    if (record === undefined) return undefined;
    if (record.run.state === 'running') {
      record.run.reason = 'interrupted';
      record.run.leftBy ??= record.run.owner;
      if (isAfterFault !== true) countDeath(record);
    }
    if (record.run.state === 'suspended') record.run.reason = reasonAfter(record.run);
    delete record.run.parked;
    record.run.needs = sortedNeeds([...record.run.needs, ...needs]);
    this.#hold(record, lease);
    const decided = this.database
      .runApprovals(record.run.runId)
      .map(({ approval }) => approval)
      .filter(({ state }) => state !== 'pending');
    return structuredClone({ run: record.run, turn: record.turn, approvals: decided });
  }

  async renew(
    fence: RunFence,
    leaseMs: number,
    { hasProgressed = false }: { hasProgressed?: boolean | undefined } = {},
  ): Promise<Renewal> {
    parseShape(RunFenceSchema, fence, 'fence');
    parseShape(ClaimOptionsSchema.shape.leaseMs, leaseMs, 'leaseMs');
    const record = this.database.runs.get(fence.runId);
    const isHeld = record?.run.epoch === fence.epoch && record.run.state === 'running';
    if (isHeld) Object.assign(record, { leaseMs }).run.leaseExpiresAt = this.database.now() + leaseMs;
    if (isHeld && hasProgressed) delete record.run.deaths;
    return { isHeld, isCancelRequested: record?.run.cancelRequestedAt !== undefined };
  }

  async release(fence: RunFence, { isDead = false }: { isDead?: boolean | undefined } = {}): Promise<void> {
    const { runId, epoch } = parseShape(RunFenceSchema, fence, 'fence');
    const record = this.database.runs.get(runId);
    if (record?.run.epoch !== epoch || record.run.state !== 'running') return;
    if (isDead) countDeath(record);
    this.database.leave(record, { state: 'queued', reason: 'interrupted' });
  }

  async suspend(fence: RunFence, approvals: readonly ApprovalDraft[]): Promise<Run> {
    const drafts = parseShape(ApprovalDraftSchema.array().min(1), approvals, 'approvals');
    const before = this.database.runs.get(fence.runId);
    if (before?.run.epoch === fence.epoch && before.run.state !== 'running' && !isFinal(before))
      return structuredClone(before.run);
    const record = this.database.fencedRun(fence);
    refuseForeign(this.database, fence.runId, drafts);
    this.#ask(record, drafts);
    this.database.leave(record, { state: 'suspended' });
    this.database.queueIfDecided(fence.runId);
    return structuredClone(record.run);
  }

  async park(fence: RunFence, reason: string): Promise<Run> {
    const parked = parseShape(RunSchema.shape.parked.unwrap(), reason, 'reason');
    const before = this.database.runs.get(fence.runId);
    if (before?.run.epoch === fence.epoch && before.run.parked !== undefined) return structuredClone(before.run);
    const record = this.database.fencedRun(fence);
    this.database.leave(record, { state: 'suspended', parked });
    return structuredClone(record.run);
  }

  async resume(runId: string): Promise<Run | undefined> {
    const record = this.database.runs.get(runId);
    if (record?.run.parked !== undefined) this.database.leave(record, { state: 'queued', reason: 'interrupted' });
    return record && structuredClone(record.run);
  }

  async finish(fence: RunFence, end: RunEnd): Promise<Run> {
    const { state, error } = parseShape(RunEndSchema, end, 'end');
    const before = this.database.runs.get(fence.runId);
    if (before?.run.epoch === fence.epoch && before.run.state === state) return structuredClone(before.run);
    const record = this.database.fencedRun(fence);
    this.database.cancelPending(fence.runId);
    this.database.leave(record, { state, ...(error === undefined ? {} : { error }) });
    return structuredClone(record.run);
  }

  async requestCancel(runId: string): Promise<Run | undefined> {
    const record = this.database.runs.get(runId);
    if (record === undefined) return undefined;
    if (isFinal(record) || record.run.cancelRequestedAt !== undefined) return structuredClone(record.run);
    record.run.cancelRequestedAt = this.database.now();
    this.database.cancelPending(runId);
    this.database.queueIfDecided(runId);
    this.database.announce(record.run);
    return structuredClone(record.run);
  }

  async announce(worker: WorkerNotice): Promise<void> {
    const notice = structuredClone(parseShape(WorkerNoticeSchema, worker, 'worker'));
    this.database.workers.set(notice.workerId, { notice, expiresAt: this.database.now() + notice.leaseMs });
  }

  async withdraw(workerId: string): Promise<void> {
    this.database.workers.delete(workerId);
  }

  async workers(): Promise<readonly WorkerNotice[]> {
    return this.#liveWorkers();
  }

  #liveWorkers(): readonly WorkerNotice[] {
    const now = this.database.now();
    const live = [...this.database.workers.values()].filter(({ notice, expiresAt }) =>
      isLeaseHeld(now, expiresAt, notice.leaseMs),
    );
    const notices = live.map(({ notice }) => structuredClone(notice));
    return notices.toSorted((left, right) => (left.workerId < right.workerId ? -1 : 1));
  }

  async probe(): Promise<void> {}

  async list(query: RunQuery = {}): Promise<RunPage> {
    const { state, principal, threadId, stuck, ...page } = parseShape(RunQuerySchema, query, 'query');
    const workers = this.#liveWorkers();
    const found = [...this.database.runs.values()].filter(
      ({ run, ...record }) =>
        (state ?? run.state) === run.state &&
        (principal ?? run.principal) === run.principal &&
        (threadId ?? run.threadId) === run.threadId &&
        (stuck === undefined || run.parked !== undefined || this.#isUnopened({ run, ...record }, workers)),
    );
    const { rows, ...rest } = memoryPage(found, ({ position }) => position, { kind: 'run', ...page });
    return { runs: rows.map(({ run }) => structuredClone(run)), ...rest };
  }

  watch(options: RunWatchOptions): AsyncIterable<void> {
    return watchBoard(this.database.board, options);
  }

  #fairest(candidates: readonly RunRecord[], maxPerPrincipal: number | undefined): RunRecord | undefined {
    const held = new Map<string, number>();
    for (const { run } of [...this.database.runs.values()].filter((record) => this.database.isHeld(record)))
      held.set(run.principal, (held.get(run.principal) ?? 0) + 1);
    for (const share of fairShares(maxPerPrincipal)) {
      const found = candidates.find(({ run }) => (held.get(run.principal) ?? 0) < (share ?? Infinity));
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #isClaimable(record: RunRecord, isResumed: boolean): boolean {
    const { state } = record.run;
    const isFree =
      state === 'queued' ||
      (state === 'running' && !this.database.isHeld(record)) ||
      (state === 'suspended' && isResumed);
    if (!isFree) return false;
    return !this.database
      .threadRuns(record.run.threadId)
      .some((other) => other !== record && other.run.state === 'running');
  }

  #isUnopened(record: RunRecord, workers: readonly WorkerNotice[]): boolean {
    const { state, cancelRequestedAt, workspace } = record.run;
    if (state !== 'queued' && (state !== 'running' || this.database.isHeld(record))) return false;
    const serving = servingWorkers(workers, workspace);
    if (cancelRequestedAt !== undefined || (state === 'running' && serving.length === 0)) return false;
    return !serving.some(({ opens }) => isOpenedBy(record, opens));
  }

  /** Whether any worker may claim the run, because it was cancelled and no announced worker opens it. */
  #needsNothing(record: RunRecord, workers: readonly WorkerNotice[]): boolean {
    const { cancelRequestedAt, workspace } = record.run;
    if (cancelRequestedAt === undefined) return false;
    return !servingWorkers(workers, workspace).some(({ opens }) => isOpenedBy(record, opens));
  }

  #hold(record: RunRecord, { owner, leaseMs }: { owner: string; leaseMs: number }): void {
    const now = this.database.now();
    record.leaseMs = leaseMs;
    Object.assign(record.run, { state: 'running', owner, leaseExpiresAt: now + leaseMs, updatedAt: now });
    record.run.epoch += 1;
    this.database.board.announce(principalKey(record.run.principal));
  }

  #knownRequest(draft: ParsedDraft): RunRecord | undefined {
    const known = draft.idempotencyKey === undefined ? undefined : this.database.requests.get(requestKey(draft));
    if (known === undefined) return undefined;
    if (known.text === requestText(draft)) return this.database.runs.get(known.runId);
    throw storeErrors.otherRequest();
  }

  #refuseTaken({ runId, turnId, thread }: ParsedDraft): void {
    const turnIds = new Set([...this.database.runs.values()].map(({ turn }) => turn.turnId));
    if (runId !== undefined && this.database.runs.has(runId)) throw idTakenError('run', runId);
    if (turnId !== undefined && turnIds.has(turnId)) throw idTakenError('turn', turnId);
    if ('create' in thread && this.database.threads.has(thread.create.threadId ?? ''))
      throw idTakenError('thread', thread.create.threadId!);
  }

  #refuseFull({ principal, thread, input, bounds }: ParsedDraft): void {
    if (bounds === undefined) return;
    const continued = 'create' in thread ? thread.create.branchOf : thread;
    const isOwn = this.database.threads.get(continued?.threadId ?? '')?.thread.principal === principal;
    const before = isOwn ? this.database.threadBytes(continued!.threadId) : 0;
    const added = JSON.stringify(input).length + ('create' in thread ? before : 0);
    const own = [...this.database.threads.keys()].filter(
      (id) => this.database.threads.get(id)!.thread.principal === principal,
    );
    const files = this.database.documents.bytesOf({ kind: 'principal', id: principal });
    const total = own.reduce((sum, id) => sum + this.database.threadBytes(id), added + files);
    checkBounds({ thread: 'create' in thread ? added : before + added, principal: total }, bounds);
  }

  #draftThread({ thread, principal, claim }: ParsedDraft): string {
    if ('create' in thread) return addThread(this.database, { ...thread.create, principal }).thread.threadId;
    const { threadId } = thread;
    if (this.database.threads.get(threadId)?.thread.principal !== principal) throw notFound('thread', threadId);
    const isBusy = this.database
      .threadRuns(threadId)
      .some(({ run }) => run.state === 'queued' || run.state === 'running');
    if (claim === undefined || !isBusy) return threadId;
    throw storeErrors.threadBusy(threadId);
  }

  #ask({ run }: RunRecord, drafts: readonly ParsedApproval[]): void {
    const named = new Set(drafts.map(({ request }) => request.approvalId));
    for (const record of this.database.runApprovals(run.runId))
      if (record.approval.state === 'pending' && !named.has(record.approval.approvalId))
        this.database.settle(record, 'cancelled');
    for (const draft of drafts) this.#addApproval(run, draft);
  }

  #addApproval({ runId, threadId, principal }: Run, { request, decided }: ParsedApproval): void {
    const { approvalId, createdAt, expiresAt } = request;
    const existing = this.database.approvals.get(approvalId);
    const record = existing ?? {
      approval: {
        approvalId,
        runId,
        threadId,
        principal,
        request: structuredClone(request),
        createdAt,
        state: 'pending' as const,
        ...(expiresAt === undefined ? {} : { expiresAt }),
      },
      position: this.database.nextPosition(),
    };
    this.database.approvals.set(approvalId, record);
    if (decided !== undefined && record.approval.state === 'pending') this.database.settle(record, decided);
  }
}

type ParsedDraft = ReturnType<typeof RunDraftSchema.parse>;
type ParsedApproval = ReturnType<typeof ApprovalDraftSchema.parse>;

function newRecord(database: MemoryDatabase, threadId: string, draft: ParsedDraft): RunRecord {
  const { runId = newStoreId('run'), turnId = newStoreId('turn'), principal, options = {}, needs = [], input } = draft;
  const createdAt = database.now();
  const { workspace } = database.threads.get(threadId)!.thread;
  const ids = { runId, threadId, turnId };
  return {
    run: structuredClone({
      ...ids,
      principal,
      workspace,
      state: 'queued' as const,
      reason: 'new' as const,
      epoch: 0,
      options,
      needs: sortedNeeds(needs),
      createdAt,
      updatedAt: createdAt,
    }),
    turn: structuredClone({ ...ids, input, createdAt }),
    position: database.nextPosition(),
    leaseMs: 0,
    events: [],
  };
}

function servingWorkers(workers: readonly WorkerNotice[], workspace: string): readonly WorkerNotice[] {
  return workers.filter(({ workspaces }) => workspaces?.includes(workspace) ?? true);
}

function isOpenedBy({ run: { needs } }: RunRecord, opens: readonly string[]): boolean {
  return needs.every((need) => opens.includes(need));
}

function sortedNeeds(needs: readonly string[]): string[] {
  return [...new Set(needs)].toSorted();
}

function countDeath({ run }: RunRecord): void {
  run.deaths = (run.deaths ?? 0) + 1;
}

function refuseForeign(database: MemoryDatabase, runId: string, drafts: readonly ParsedApproval[]): void {
  for (const { request } of drafts)
    if ((database.approvals.get(request.approvalId)?.approval.runId ?? runId) !== runId)
      throw idTakenError('approval', request.approvalId);
}

function idTakenError(kind: string, id: string): ToolscriptUsageError {
  return storeErrors.idExists(kind, id);
}

function createdRun({ run, turn }: RunRecord, isNew: boolean): CreatedRun {
  return { ...structuredClone({ run, turn }), isNew };
}

function requestKey({ principal, idempotencyKey }: ParsedDraft): string {
  return JSON.stringify([principal, idempotencyKey]);
}
