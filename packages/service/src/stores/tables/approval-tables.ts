import type { Approval, ApprovalState, Run, StoredDecision } from '@toolscript/core/protocol';
import type { ApprovalDraftSchema, DecidedApproval } from '@toolscript/core/ports';
import type { Database, Row } from './database.js';
import { rowApproval, conditions, encode, encodeOptional, lockRun, REASON_AFTER, touchThread } from './rows.js';
import { storeErrors } from '../store-errors.js';
import { stateAfter } from '../store-rules.js';

export type ParsedApproval = ReturnType<typeof ApprovalDraftSchema.parse>;

interface Settlement {
  readonly state: ApprovalState;
  readonly decision?: StoredDecision | undefined;
  readonly by?: string | undefined;
}

/** A page ends when its requests reach this number of UTF-16 units. */
const MAX_PAGE_LENGTH = 1_048_576;

/** Operations on approvals, inside transactions of other tables. */
export class ApprovalTables {
  constructor(readonly database: Database) {}

  find(approvalId: string, principal?: string): Promise<Row | undefined> {
    const { sql, parameters } = conditions(this.database.dialect, { approval_id: approvalId, principal });
    return this.database.first(`SELECT * FROM approvals WHERE ${sql}`, parameters);
  }

  async list(query: { filters: Readonly<Record<string, string | undefined>>; after: number; limit: number }) {
    const { sql, parameters } = conditions(this.database.dialect, query.filters);
    const positions = await this.database.all(
      `SELECT position FROM approvals WHERE ${sql} AND position > :after ORDER BY position LIMIT :limit`,
      { ...parameters, after: query.after, limit: query.limit + 1 },
    );
    const approvals: Approval[] = [];
    let last = 0;
    for (let length = 0; approvals.length < Math.min(query.limit, positions.length) && length < MAX_PAGE_LENGTH;) {
      last = positions[approvals.length]!.position as number;
      const row = (await this.database.first('SELECT * FROM approvals WHERE position = :last', { last }))!;
      length += (row.request as string).length;
      approvals.push(rowApproval(row));
    }
    return { approvals, next: approvals.length < positions.length ? last : undefined };
  }

  async decide(
    approvalId: string,
    decision: StoredDecision,
    by: string,
    now: number,
  ): Promise<DecidedApproval | undefined> {
    const row = await this.#lockedApproval(approvalId);
    if (row === undefined) return undefined;
    // defence: approvals-are-decided-once
    const isPending = row.state === 'pending';
    const isExpired = isPending && row.expires_at !== null && (row.expires_at as number) <= now;
    if (isExpired) await this.settle(row, { state: 'expired' }, now);
    else if (isPending) await this.settle(row, { state: stateAfter(decision), decision, by }, now);
    const isRunQueued = isPending && (await this.queueIfDecided(row.run_id as string, now));
    return { approval: rowApproval((await this.find(approvalId))!), isWinner: isPending && !isExpired, isRunQueued };
  }

  async expire(now: number): Promise<Approval[]> {
    const expired = `state = 'pending' AND expires_at <= :now`;
    const runs = await this.database.all(
      `SELECT run_id FROM runs WHERE run_id IN (SELECT run_id FROM approvals WHERE ${expired} LIMIT 1000)
      ORDER BY position ${this.database.dialect.forUpdate}`,
      { now },
    );
    const approvals: Approval[] = [];
    for (const { run_id: id } of runs) {
      const runId = id as string;
      const rows = await this.database.all(
        `SELECT * FROM approvals WHERE run_id = :runId AND ${expired} ORDER BY position`,
        { runId, now },
      );
      for (const row of rows) await this.settle(row, { state: 'expired' }, now);
      await this.queueIfDecided(runId, now);
      for (const row of rows) approvals.push(rowApproval((await this.find(row.approval_id as string))!));
    }
    return approvals;
  }

  /** Replaces the approvals for which a suspended run waits. */
  async ask(run: Run, drafts: readonly ParsedApproval[], now: number): Promise<void> {
    const named = new Set(drafts.map(({ request }) => request.approvalId));
    for (const row of await this.#pending(run.runId))
      if (!named.has(row.approval_id as string)) await this.settle(row, { state: 'cancelled' }, now);
    for (const draft of drafts) await this.#add(run, draft, now);
  }

  async cancelPending(runId: string, now: number): Promise<void> {
    for (const row of await this.#pending(runId)) await this.settle(row, { state: 'cancelled' }, now);
  }

  /** Queues a suspended run if it has no pending approvals. The caller has locked the run. */
  async queueIfDecided(runId: string, now: number): Promise<boolean> {
    const queued = await this.database.first(
      `UPDATE runs SET state = 'queued', reason = ${REASON_AFTER}, parked = NULL, updated_at = :now
      WHERE run_id = :runId AND state = 'suspended'
        AND NOT EXISTS (SELECT 1 FROM approvals WHERE run_id = :runId AND state = 'pending')
      RETURNING thread_id`,
      { runId, now },
    );
    if (queued === undefined) return false;
    await touchThread(this.database, queued.thread_id as string, now);
    return true;
  }

  async settle(row: Row, { state, decision, by }: Settlement, now: number): Promise<void> {
    await this.database.run(
      `UPDATE approvals SET state = :state, decision = :decision, decided_by = :by, decided_at = :now
      WHERE approval_id = :approvalId`,
      { approvalId: row.approval_id!, state, decision: encodeOptional(decision), by: encodeOptional(by), now },
    );
    await touchThread(this.database, row.thread_id as string, now);
  }

  /** Locks the run of an approval, so that the approvals of the run are decided one after the other. */
  async #lockedApproval(approvalId: string): Promise<Row | undefined> {
    const row = await this.find(approvalId);
    if (row === undefined) return undefined;
    await lockRun(this.database, row.run_id as string);
    return this.find(approvalId);
  }

  #pending(runId: string): Promise<Row[]> {
    return this.database.all(`SELECT * FROM approvals WHERE run_id = :runId AND state = 'pending'`, { runId });
  }

  async #add({ runId, threadId, principal }: Run, { request, decided }: ParsedApproval, now: number): Promise<void> {
    const { approvalId, createdAt, expiresAt = null } = request;
    const known = await this.find(approvalId);
    if (known !== undefined && known.run_id !== runId) throw storeErrors.idExists('approval', approvalId);
    const names = { approvalId, runId, threadId, principal: encode(principal) };
    if (known === undefined)
      await this.database.place(
        [
          `INSERT INTO approvals (approval_id, position, run_id, thread_id, principal, request, created_at, expires_at, state)
          VALUES (:approvalId, :position, :runId, :threadId, :principal, :request, :createdAt, :expiresAt, 'pending')`,
        ],
        { ...names, request: encode(request), createdAt, expiresAt },
      );
    const row = (await this.find(approvalId))!;
    if (decided === undefined || row.state !== 'pending') return;
    await this.settle(row, { state: stateAfter(decided.decision), ...decided }, now);
  }
}
