import {
  storeErrors,
  stateAfter,
  type ApprovalDraftSchema,
  type Approval,
  type ApprovalState,
  type DecidedApproval,
  type Run,
  type StoredDecision,
} from '@toolscript/core/protocol';
import type { Database, Row } from './database.js';
import { approvalOf, conditions, encode, encodeOptional, touchThread } from './rows.js';

export type ParsedApproval = ReturnType<typeof ApprovalDraftSchema.parse>;

interface Settlement {
  readonly state: ApprovalState;
  readonly decision?: StoredDecision;
  readonly by?: string;
}

/** A page ends when its requests are longer than this, in UTF-16 units. */
const MAX_PAGE_LENGTH = 1_048_576;

/** Operations on approvals, inside transactions of others. */
export class ApprovalTables {
  constructor(readonly database: Database) {}

  find(approvalId: string): Row | undefined {
    return this.database.first('SELECT * FROM approvals WHERE approval_id = :approvalId', { approvalId });
  }

  list(query: { filters: Readonly<Record<string, string | undefined>>; after: number; limit: number }) {
    const { sql, parameters } = conditions(query.filters);
    const positions = this.database.all(
      `SELECT position FROM approvals WHERE ${sql} AND position > :after ORDER BY position LIMIT :limit`,
      { ...parameters, after: query.after, limit: query.limit + 1 },
    );
    const approvals: Approval[] = [];
    let last = 0;
    for (let length = 0; approvals.length < Math.min(query.limit, positions.length) && length < MAX_PAGE_LENGTH;) {
      last = positions[approvals.length]!.position as number;
      const row = this.database.first('SELECT * FROM approvals WHERE position = :last', { last })!;
      length += (row.request as string).length;
      approvals.push(approvalOf(row));
    }
    return { approvals, next: approvals.length < positions.length ? last : undefined };
  }

  decide(approvalId: string, decision: StoredDecision, by: string, now: number): DecidedApproval | undefined {
    const row = this.find(approvalId);
    if (row === undefined) return undefined;
    // defence: approvals-are-decided-once, without it: const isPending = true;
    const isPending = row.state === 'pending';
    const isExpired = isPending && row.expires_at !== null && (row.expires_at as number) <= now;
    if (isExpired) this.settle(row, { state: 'expired' }, now);
    else if (isPending) this.settle(row, { state: stateAfter(decision), decision, by }, now);
    const isRunQueued = isPending && this.queueIfDecided(row.run_id as string, now);
    return { approval: approvalOf(this.find(approvalId)!), isWinner: isPending && !isExpired, isRunQueued };
  }

  expire(now: number): Approval[] {
    const rows = this.database.all(
      `SELECT * FROM approvals WHERE state = 'pending' AND expires_at <= :now ORDER BY position LIMIT 1000`,
      { now },
    );
    for (const row of rows) this.settle(row, { state: 'expired' }, now);
    for (const row of rows) this.queueIfDecided(row.run_id as string, now);
    return rows.map((row) => approvalOf(this.find(row.approval_id as string)!));
  }

  /** Replaces the approvals that a suspended run waits for. */
  ask(run: Run, drafts: readonly ParsedApproval[], now: number): void {
    const named = new Set(drafts.map(({ request }) => request.approvalId));
    for (const row of this.#pending(run.runId))
      if (!named.has(row.approval_id as string)) this.settle(row, { state: 'cancelled' }, now);
    for (const draft of drafts) this.#add(run, draft, now);
  }

  cancelPending(runId: string, now: number): void {
    for (const row of this.#pending(runId)) this.settle(row, { state: 'cancelled' }, now);
  }

  /** Queues a suspended run without pending approvals. */
  queueIfDecided(runId: string, now: number): boolean {
    const queued = this.database.first(
      `UPDATE runs SET state = 'queued', reason = 'resumed', updated_at = :now
      WHERE run_id = :runId AND state = 'suspended'
        AND NOT EXISTS (SELECT 1 FROM approvals WHERE run_id = :runId AND state = 'pending')
      RETURNING thread_id`,
      { runId, now },
    );
    if (queued === undefined) return false;
    touchThread(this.database, queued.thread_id as string, now);
    return true;
  }

  settle(row: Row, { state, decision, by }: Settlement, now: number): void {
    this.database.run(
      `UPDATE approvals SET state = :state, decision = :decision, decided_by = :by, decided_at = :now
      WHERE approval_id = :approvalId`,
      { approvalId: row.approval_id!, state, decision: encodeOptional(decision), by: encodeOptional(by), now },
    );
    touchThread(this.database, row.thread_id as string, now);
  }

  #pending(runId: string): Row[] {
    return this.database.all(`SELECT * FROM approvals WHERE run_id = :runId AND state = 'pending'`, { runId });
  }

  #add({ runId, threadId, principal }: Run, { request, decided }: ParsedApproval, now: number): void {
    const { approvalId, createdAt = now, expiresAt = null } = request;
    const known = this.find(approvalId);
    if (known !== undefined && known.run_id !== runId) throw storeErrors.idExists('approval', approvalId);
    const names = { approvalId, runId, threadId, principal: encode(principal) };
    if (known === undefined)
      this.database.run(
        `INSERT INTO approvals (approval_id, position, run_id, thread_id, principal, request, created_at, expires_at, state)
        VALUES (:approvalId, :position, :runId, :threadId, :principal, :request, :createdAt, :expiresAt, 'pending')`,
        { ...names, position: this.database.nextPosition(), request: encode(request), createdAt, expiresAt },
      );
    const row = this.find(approvalId)!;
    if (decided === undefined || row.state !== 'pending') return;
    this.settle(row, { state: stateAfter(decided.decision), ...decided }, now);
  }
}
