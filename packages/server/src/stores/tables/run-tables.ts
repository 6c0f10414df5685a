import { createHash } from 'node:crypto';
import {
  storeErrors,
  isFinalRunState,
  inputText,
  searchText,
  type Approval,
  type ClaimedRun,
  type ClaimOptionsSchema,
  type CreatedRun,
  type Renewal,
  type Run,
  type RunDraftSchema,
  type RunEnd,
  type RunFence,
} from '@toolscript/core/protocol';
import { ApprovalTables, type ParsedApproval } from './approval-tables.js';
import type { Database, Row } from './database.js';
import {
  approvalOf,
  conditions,
  encode,
  encodeOptional,
  findRun,
  heldRun,
  newStoreId,
  runOf,
  touchThread,
  turnOf,
} from './rows.js';
import { insertThread } from './thread-rows.js';

type ParsedDraft = ReturnType<typeof RunDraftSchema.parse>;
type ParsedClaim = ReturnType<typeof ClaimOptionsSchema.parse>;

interface Lease {
  readonly owner: string;
  readonly leaseMs: number;
}

/** Like `isLeaseHeld` of the protocol. */
const IS_HELD = 'lease_expires_at > :now AND lease_expires_at <= :now + 2 * lease_ms';

const NOTHING_ELSE_RUNS = `NOT EXISTS (
    SELECT 1 FROM runs AS other
    WHERE other.thread_id = candidate.thread_id AND other.state = 'running' AND other.run_id <> candidate.run_id
  )`;

const claimOf = (candidate: string) => `
  UPDATE runs SET
    reason = CASE state WHEN 'running' THEN 'interrupted' WHEN 'suspended' THEN 'resumed' ELSE reason END,
    state = 'running', epoch = epoch + 1, owner = :owner, lease_ms = :leaseMs,
    lease_expires_at = :now + :leaseMs, updated_at = :now
  WHERE run_id = (SELECT run_id FROM runs AS candidate ${candidate} AND ${NOTHING_ELSE_RUNS} ORDER BY position LIMIT 1)
  RETURNING *`;

const CLAIM = claimOf(`INDEXED BY claimable_runs
  WHERE state IN ('queued', 'running') AND (state = 'queued' OR NOT (${IS_HELD}))
    AND (:runId IS NULL OR run_id = :runId)
    AND (:workspaces IS NULL OR workspace IN (SELECT value FROM json_each(:workspaces)))`);

const CLAIM_SUSPENDED = claimOf(`WHERE run_id = :runId AND state = 'suspended'
    AND (:workspaces IS NULL OR workspace IN (SELECT value FROM json_each(:workspaces)))`);

/** Runs in the database; each function is one transaction. */
export class RunTables {
  readonly #approvals: ApprovalTables;

  constructor(readonly database: Database) {
    this.#approvals = new ApprovalTables(database);
  }

  create(draft: ParsedDraft, requestText: string, now: number): CreatedRun {
    return this.database.write(() => {
      const sha256 = createHash('sha256').update(requestText).digest('hex');
      const known = this.#knownRequest(draft, sha256);
      if (known !== undefined) return { ...this.#withTurn(known), isNew: false };
      this.#refuseTaken(draft);
      const row = this.#insert(draft, this.#threadOf(draft, now), now);
      if (draft.idempotencyKey !== undefined)
        this.database.run('INSERT INTO requests VALUES (:principal, :key, :sha256, :runId)', {
          ...requestKey(draft),
          sha256,
          runId: row.run_id!,
        });
      const claimed =
        draft.claim === undefined ? row : this.#claim({ ...draft.claim, runId: row.run_id as string }, now);
      return { ...this.#withTurn(claimed!), isNew: true };
    });
  }

  get(runId: string): Run | undefined {
    const row = findRun(this.database, runId);
    return row && runOf(row);
  }

  claim(options: ParsedClaim, now: number): ClaimedRun | undefined {
    return this.database.write(() => {
      const row = this.#claim(options, now);
      return row && { ...this.#withTurn(row), approvals: this.#decided(row.run_id as string) };
    });
  }

  renew({ runId, epoch }: RunFence, leaseMs: number, now: number): Renewal {
    return this.database.write(
      () => {
        const row = this.database.first(
          `UPDATE runs SET lease_ms = :leaseMs, lease_expires_at = :now + :leaseMs
          WHERE run_id = :runId AND epoch = :epoch AND state = 'running' RETURNING cancel_requested_at`,
          { runId, epoch, leaseMs, now },
        );
        const known = row ?? findRun(this.database, runId);
        return { isHeld: row !== undefined, isCancelRequested: (known?.cancel_requested_at ?? null) !== null };
      },
      { flush: false },
    );
  }

  release(fence: RunFence, now: number): void {
    this.database.write(() => {
      const row = findRun(this.database, fence.runId);
      if (row?.epoch !== fence.epoch || row.state !== 'running') return;
      this.#leave(row, 'queued', now);
      this.database.run(`UPDATE runs SET reason = 'interrupted' WHERE run_id = :runId`, { runId: fence.runId });
    });
  }

  suspend(fence: RunFence, drafts: readonly ParsedApproval[], now: number): Run {
    return this.database.write(() => {
      const before = findRun(this.database, fence.runId);
      if (before?.epoch === fence.epoch && (before.state === 'suspended' || before.state === 'queued'))
        return runOf(before);
      const row = heldRun(this.database, fence);
      this.#approvals.ask(runOf(row), drafts, now);
      this.#leave(row, 'suspended', now);
      this.#approvals.queueIfDecided(fence.runId, now);
      return this.get(fence.runId)!;
    });
  }

  finish(fence: RunFence, { state, error }: RunEnd, now: number): Run {
    return this.database.write(() => {
      const before = findRun(this.database, fence.runId);
      if (before?.epoch === fence.epoch && before.state === state) return runOf(before);
      const row = heldRun(this.database, fence);
      this.#approvals.cancelPending(fence.runId, now);
      this.#leave(row, state, now);
      const change = { runId: fence.runId, error: encodeOptional(error) };
      this.database.run('UPDATE runs SET error = :error WHERE run_id = :runId', change);
      return this.get(fence.runId)!;
    });
  }

  requestCancel(runId: string, now: number): Run | undefined {
    return this.database.write(() => {
      const run = this.get(runId);
      if (run === undefined || run.cancelRequestedAt !== undefined || isFinalRunState(run.state)) return run;
      this.database.run('UPDATE runs SET cancel_requested_at = :now WHERE run_id = :runId', { runId, now });
      this.#approvals.cancelPending(runId, now);
      this.#approvals.queueIfDecided(runId, now);
      return this.get(runId);
    });
  }

  list({
    filters,
    after,
    limit,
  }: {
    filters: Readonly<Record<string, string | undefined>>;
    after: number;
    limit: number;
  }) {
    const { sql, parameters } = conditions(filters);
    const rows = this.database.all(
      `SELECT * FROM runs WHERE ${sql} AND position > :after ORDER BY position LIMIT :limit`,
      { ...parameters, after, limit: limit + 1 },
    );
    const page = rows.slice(0, limit);
    return { runs: page.map(runOf), next: page.length < rows.length ? (page.at(-1)!.position as number) : undefined };
  }

  #claim(
    { owner, leaseMs, runId, workspaces, evenSuspended }: Lease & Partial<ParsedClaim>,
    now: number,
  ): Row | undefined {
    const parameters = {
      owner: encode(owner),
      leaseMs,
      runId: runId ?? null,
      workspaces: workspaces === undefined ? null : encode(workspaces.map(encode)),
      now,
    };
    const found = this.database.first(CLAIM, parameters);
    if (found !== undefined || evenSuspended !== true) return found;
    return this.database.first(CLAIM_SUSPENDED, parameters);
  }

  #knownRequest(draft: ParsedDraft, sha256: string): Row | undefined {
    if (draft.idempotencyKey === undefined) return undefined;
    const found = this.database.first(
      'SELECT * FROM requests WHERE principal = :principal AND key = :key',
      requestKey(draft),
    );
    if (found === undefined) return undefined;
    if (found.sha256 === sha256) return findRun(this.database, found.run_id as string);
    throw storeErrors.otherRequest();
  }

  #refuseTaken(draft: ParsedDraft): void {
    const { runId, turnId, thread } = draft;
    const threadId = 'create' in thread ? (thread.create.threadId ?? null) : null;
    const found = this.database.first(
      `SELECT 'run' AS kind, run_id AS id FROM runs WHERE run_id = :runId
      UNION ALL SELECT 'turn', turn_id FROM runs WHERE turn_id = :turnId
      UNION ALL SELECT 'thread', thread_id FROM threads WHERE thread_id = :threadId`,
      { runId: runId ?? null, turnId: turnId ?? null, threadId },
    );
    if (found !== undefined) throw storeErrors.idExists(String(found.kind), String(found.id));
  }

  #threadOf({ thread, principal, claim }: ParsedDraft, now: number): string {
    if ('create' in thread) return insertThread(this.database, { ...thread.create, principal }, now);
    const { threadId } = thread;
    const found = this.database.first('SELECT principal FROM threads WHERE thread_id = :threadId', { threadId });
    if (found?.principal !== encode(principal)) throw storeErrors.notFound('thread', threadId);
    const busy = `SELECT 1 FROM runs WHERE thread_id = :threadId AND state IN ('queued', 'running') LIMIT 1`;
    if (claim !== undefined && this.database.first(busy, { threadId }) !== undefined)
      throw storeErrors.threadBusy(threadId);
    touchThread(this.database, threadId, now);
    return threadId;
  }

  #insert(draft: ParsedDraft, threadId: string, now: number): Row {
    const { runId = newStoreId('run'), turnId = newStoreId('turn'), principal, options = {}, input } = draft;
    const row = this.database.first(
      `INSERT INTO runs (run_id, position, thread_id, turn_id, principal, workspace, state, reason, epoch, options, created_at, updated_at)
      SELECT :runId, :position, thread_id, :turnId, :principal, workspace, 'queued', 'new', 0, :options, :now, :now
      FROM threads WHERE thread_id = :threadId RETURNING *`,
      {
        runId,
        turnId,
        threadId,
        principal: encode(principal),
        options: encode(options),
        position: this.database.nextPosition(),
        now,
      },
    )!;
    const turn = { runId, threadId, input: encode(input), searched: searchText(inputText(input)) };
    this.database.run('INSERT INTO turns VALUES (:runId, :threadId, :input, :searched)', turn);
    return row;
  }

  #leave(row: Row, state: Run['state'], now: number): void {
    this.database.run(
      `UPDATE runs SET state = :state, owner = NULL, lease_ms = NULL, lease_expires_at = NULL, updated_at = :now
      WHERE run_id = :runId`,
      { runId: row.run_id!, state, now },
    );
    touchThread(this.database, row.thread_id as string, now);
  }

  #withTurn(row: Row): { run: Run; turn: CreatedRun['turn'] } {
    const run = runOf(row);
    const turn = this.database.first('SELECT input FROM turns WHERE run_id = :runId', { runId: run.runId })!;
    return { run, turn: turnOf(run, turn.input) };
  }

  #decided(runId: string): Approval[] {
    return this.database
      .all(`SELECT * FROM approvals WHERE run_id = :runId AND state <> 'pending' ORDER BY position`, { runId })
      .map(approvalOf);
  }
}

function requestKey({ principal, idempotencyKey }: ParsedDraft): { principal: string; key: string } {
  return { principal: encode(principal), key: encode(idempotencyKey) };
}
