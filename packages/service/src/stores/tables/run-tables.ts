import { createHash } from 'node:crypto';
import type { Approval, Run, RunDraftSchema, RunFence } from '@toolscript/core/protocol';
import { isFinalRunState } from '@toolscript/core/internal';
import type { ClaimedRun, ClaimOptionsSchema, CreatedRun, Renewal, RunEnd, WorkerNotice } from '@toolscript/core/ports';
import { ApprovalTables, type ParsedApproval } from './approval-tables.js';
import type { Database, Dialect, Row } from './database.js';
import {
  rowApproval,
  conditions,
  encode,
  encodeNeeds,
  encodeOptional,
  findRun,
  heldRun,
  lockRun,
  lockThread,
  refuseFullStorage,
  rowRun,
  rowWorker,
  touchThread,
  runTurn,
  transcriptInput,
} from './rows.js';
import { IS_FREE, IS_HELD, isOpenedByWorker, isServedByWorker, RunClaims } from './run-claims.js';
import { insertThread } from './thread-rows.js';
import { storeErrors } from '../store-errors.js';
import { newStoreId, inputText, searchText } from '../store-rules.js';

type ParsedDraft = ReturnType<typeof RunDraftSchema.parse>;
type ParsedClaim = ReturnType<typeof ClaimOptionsSchema.parse>;

/** Runs in the database; each function is one transaction. */
export class RunTables {
  readonly #approvals: ApprovalTables;
  readonly #claims: RunClaims;

  constructor(readonly database: Database) {
    this.#claims = new RunClaims(database);
    this.#approvals = new ApprovalTables(database);
  }

  create(draft: ParsedDraft, requestText: string, now: number): Promise<CreatedRun> {
    return this.database.write(async () => {
      const sha256 = createHash('sha256').update(requestText).digest('hex');
      const known = await this.#knownRequest(draft, sha256);
      if (known !== undefined) return { ...(await this.#withTurn(known)), isNew: false };
      await this.#refuseTaken(draft);
      // The lock lets no concurrent request of the principal pass the same bounds.
      if (draft.bounds !== undefined) await this.database.lock(`bytes of ${draft.principal}`);
      const { threadId, placeCopies } = await this.#draftThread(draft, now);
      const input = encode(draft.input);
      await touchThread(this.database, threadId, now, input.length);
      await refuseFullStorage(this.database, threadId, draft.bounds);
      await placeCopies();
      const row = await this.#insert(draft, { threadId, input }, now);
      if (draft.idempotencyKey !== undefined)
        await this.database.run('INSERT INTO requests VALUES (:principal, :key, :sha256, :runId)', {
          ...requestKey(draft),
          sha256,
          runId: row.run_id!,
        });
      const claimed =
        draft.claim === undefined
          ? row
          : await this.#claims.claim({ ...draft.claim, runId: row.run_id as string }, now);
      const run = rowRun(claimed!);
      return { run, turn: runTurn(run, input), isNew: true };
    });
  }

  async get(runId: string, principal?: string): Promise<Run | undefined> {
    const row = await findRun(this.database, runId, principal);
    return row && rowRun(row);
  }

  claim(options: ParsedClaim, now: number): Promise<ClaimedRun | undefined> {
    return this.database.write(async () => {
      const row = await this.#claims.claim(options, now);
      return row && { ...(await this.#withTurn(row)), approvals: await this.#decidedApprovals(row.run_id as string) };
    });
  }

  renew({ runId, epoch }: RunFence, leaseMs: number, hasProgressed: boolean, now: number): Promise<Renewal> {
    return this.database.write(
      async () => {
        const row = await this.database.first(
          `UPDATE runs SET lease_ms = :leaseMs, lease_expires_at = :now + :leaseMs, deaths = deaths * :kept
          WHERE run_id = :runId AND epoch = :epoch AND state = 'running' RETURNING cancel_requested_at`,
          { runId, epoch, leaseMs, kept: hasProgressed ? 0 : 1, now },
        );
        const known = row ?? (await findRun(this.database, runId));
        return { isHeld: row !== undefined, isCancelRequested: (known?.cancel_requested_at ?? null) !== null };
      },
      { flush: false },
    );
  }

  release(fence: RunFence, isDead: boolean, now: number): Promise<Run | undefined> {
    return this.database.write(async () => {
      const row = await lockRun(this.database, fence.runId);
      if (row?.epoch !== fence.epoch || row.state !== 'running') return undefined;
      await this.#leave(row, 'queued', now);
      const sql = `UPDATE runs SET reason = 'interrupted', deaths = deaths + :deaths WHERE run_id = :runId`;
      await this.database.run(sql, { runId: fence.runId, deaths: isDead ? 1 : 0 });
      return this.get(fence.runId);
    });
  }

  suspend(fence: RunFence, drafts: readonly ParsedApproval[], now: number): Promise<Run> {
    return this.database.write(async () => {
      const before = await lockRun(this.database, fence.runId);
      if (before?.epoch === fence.epoch && (before.state === 'suspended' || before.state === 'queued'))
        return rowRun(before);
      const row = await heldRun(this.database, fence);
      await this.#leave(row, 'suspended', now);
      const asked = await this.#approvals.ask(rowRun(row), drafts, now);
      if (!asked.isWaiting) await this.#approvals.queueIfDecided(fence.runId, now);
      const run = (await this.get(fence.runId))!;
      await asked.place();
      return run;
    });
  }

  park(fence: RunFence, reason: string, now: number): Promise<Run> {
    return this.database.write(async () => {
      const before = await lockRun(this.database, fence.runId);
      if (before?.epoch === fence.epoch && before.parked !== null) return rowRun(before);
      const row = await heldRun(this.database, fence);
      await this.#leave(row, 'suspended', now);
      const sql = 'UPDATE runs SET parked = :parked WHERE run_id = :runId';
      await this.database.run(sql, { runId: fence.runId, parked: encode(reason) });
      return (await this.get(fence.runId))!;
    });
  }

  resume(runId: string, now: number): Promise<Run | undefined> {
    return this.database.write(async () => {
      const row = await lockRun(this.database, runId);
      if (row !== undefined && row.parked !== null) await this.#approvals.queueIfDecided(runId, now);
      return this.get(runId);
    });
  }

  announce({ workerId, opens, workspaces, leaseMs }: WorkerNotice, now: number): Promise<void> {
    return this.database.write(
      async () => {
        await this.database.run(`DELETE FROM workers WHERE worker_id = :workerId OR NOT (${IS_HELD})`, {
          workerId,
          now,
        });
        const served = encodeOptional(workspaces?.map(encode));
        await this.database.insert('workers', [[workerId, encode(opens), served, leaseMs, now + leaseMs]]);
      },
      { flush: false },
    );
  }

  withdraw(workerId: string): Promise<void> {
    return this.database.write(
      () => this.database.run('DELETE FROM workers WHERE worker_id = :workerId', { workerId }),
      { flush: false },
    );
  }

  async workers(now: number): Promise<WorkerNotice[]> {
    const sql = `SELECT * FROM workers WHERE ${IS_HELD} ORDER BY worker_id`;
    return (await this.database.all(sql, { now })).map(rowWorker);
  }

  probe(): Promise<void> {
    return this.database.write(() => this.database.run('UPDATE probe SET value = value + 1'), { flush: false });
  }

  finish(fence: RunFence, { state, error }: RunEnd, now: number): Promise<Run> {
    return this.database.write(async () => {
      const before = await lockRun(this.database, fence.runId);
      if (before?.epoch === fence.epoch && before.state === state) return rowRun(before);
      const row = await heldRun(this.database, fence);
      await this.#approvals.cancelPending(fence.runId, now);
      await this.#leave(row, state, now, error);
      return (await this.get(fence.runId))!;
    });
  }

  requestCancel(runId: string, now: number): Promise<Run | undefined> {
    return this.database.write(async () => {
      const row = await lockRun(this.database, runId);
      const run = row && rowRun(row);
      if (run === undefined || run.cancelRequestedAt !== undefined || isFinalRunState(run.state)) return run;
      await this.database.run('UPDATE runs SET cancel_requested_at = :now WHERE run_id = :runId', { runId, now });
      await this.#approvals.cancelPending(runId, now);
      await this.#approvals.queueIfDecided(runId, now);
      return this.get(runId);
    });
  }

  async list({
    filters,
    stuck,
    after,
    limit,
    now,
  }: {
    filters: Readonly<Record<string, string | undefined>>;
    stuck?: true | undefined;
    after: number;
    limit: number;
    now: number;
  }) {
    const { sql, parameters } = conditions(this.database.dialect, filters);
    const from = stuck === true ? stuckRuns(this.database.dialect) : 'runs';
    const rows = await this.database.all(
      `SELECT * FROM ${from} WHERE ${sql} AND position > :after ORDER BY position LIMIT :limit`,
      { ...parameters, after, limit: limit + 1, now },
    );
    const page = rows.slice(0, limit);
    return { runs: page.map(rowRun), next: page.length < rows.length ? (page.at(-1)!.position as number) : undefined };
  }

  async #knownRequest(draft: ParsedDraft, sha256: string): Promise<Row | undefined> {
    if (draft.idempotencyKey === undefined) return undefined;
    const named = requestKey(draft);
    await this.database.lock(`request ${named.principal} ${named.key}`);
    const { isLongText } = this.database.dialect;
    const sql = `SELECT * FROM requests WHERE ${isLongText('principal', ':principal')} AND ${isLongText('key', ':key')}`;
    const found = await this.database.first(sql, named);
    if (found === undefined) return undefined;
    if (found.sha256 === sha256) return findRun(this.database, found.run_id as string);
    throw storeErrors.otherRequest();
  }

  async #refuseTaken(draft: ParsedDraft): Promise<void> {
    const { runId, turnId, thread } = draft;
    const threadId = 'create' in thread ? (thread.create.threadId ?? null) : null;
    const found = await this.database.first(
      `SELECT 'run' AS kind, run_id AS id FROM runs WHERE run_id = :runId
      UNION ALL SELECT 'turn', turn_id FROM runs WHERE turn_id = :turnId
      UNION ALL SELECT 'thread', thread_id FROM threads WHERE thread_id = :threadId`,
      { runId: runId ?? null, turnId: turnId ?? null, threadId },
    );
    if (found !== undefined) throw storeErrors.idExists(String(found.kind), String(found.id));
  }

  async #draftThread({ thread, principal, claim, bounds }: ParsedDraft, now: number): ReturnType<typeof insertThread> {
    if ('create' in thread) return insertThread(this.database, { ...thread.create, principal }, now, bounds);
    const { threadId } = thread;
    const found = await lockThread(this.database, threadId);
    if (found?.principal !== encode(principal)) throw storeErrors.notFound('thread', threadId);
    const busy = `SELECT 1 FROM runs WHERE thread_id = :threadId AND state IN ('queued', 'running') LIMIT 1`;
    if (claim !== undefined && (await this.database.first(busy, { threadId })) !== undefined)
      throw storeErrors.threadBusy(threadId);
    return { threadId, placeCopies: async () => {} };
  }

  async #insert(
    draft: ParsedDraft,
    { threadId, input }: { readonly threadId: string; readonly input: string },
    now: number,
  ): Promise<Row> {
    const { runId = newStoreId('run'), turnId = newStoreId('turn'), principal, options = {}, needs } = draft;
    const inserts = [
      'INSERT INTO transcripts VALUES (:position, :input, :searched)',
      `INSERT INTO runs (run_id, position, thread_id, turn_id, principal, workspace, state, reason, epoch, options,
        needs, created_at, updated_at, transcript, bytes)
      SELECT :runId, :position, thread_id, :turnId, :principal, workspace, 'queued', 'new', 0, :options,
        :needs, :now, :now, :position, :bytes
      FROM threads WHERE thread_id = :threadId RETURNING *`,
    ];
    const row = await this.database.place(inserts, {
      runId,
      turnId,
      threadId,
      principal: encode(principal),
      options: encode(options),
      needs: encodeNeeds(needs),
      input,
      searched: searchText(inputText(draft.input)),
      bytes: input.length,
      now,
    });
    return row!;
  }

  async #leave(row: Row, state: Run['state'], now: number, error?: RunEnd['error']): Promise<void> {
    await this.database.run(
      `UPDATE runs SET state = :state, error = :error, owner = NULL, lease_ms = NULL, lease_expires_at = NULL,
        left_by = CASE :state WHEN 'queued' THEN coalesce(left_by, owner) END,
        deaths = CASE :state WHEN 'queued' THEN deaths ELSE 0 END, updated_at = :now
      WHERE run_id = :runId`,
      { runId: row.run_id!, state, error: encodeOptional(error), now },
    );
    await touchThread(this.database, row.thread_id as string, now);
  }

  async #withTurn(row: Row): Promise<{ run: Run; turn: CreatedRun['turn'] }> {
    const run = rowRun(row);
    return { run, turn: runTurn(run, await transcriptInput(this.database, row.transcript!)) };
  }

  async #decidedApprovals(runId: string): Promise<Approval[]> {
    const sql = `SELECT * FROM approvals WHERE run_id = :runId AND state <> 'pending' ORDER BY position`;
    return (await this.database.all(sql, { runId })).map(rowApproval);
  }
}

/** The parked runs, and the free runs that no announced worker may claim. */
function stuckRuns(dialect: Dialect): string {
  return `(SELECT * FROM runs WHERE state = 'suspended' AND parked IS NOT NULL
    UNION ALL SELECT * FROM runs ${dialect.indexedBy('claimable_runs')} WHERE ${IS_FREE} AND cancel_requested_at IS NULL
      AND (state = 'queued' OR ${isServedByWorker(dialect, 'runs')}) AND NOT ${isOpenedByWorker(dialect, 'runs')}
    ) AS runs`;
}

function requestKey({ principal, idempotencyKey }: ParsedDraft): { principal: string; key: string } {
  return { principal: encode(principal), key: encode(idempotencyKey) };
}
