import type { Approval, ApprovalState, Run, StoredDecision } from '@toolscript/core/protocol';
import type { ApprovalDraftSchema, DecidedApproval } from '@toolscript/core/ports';
import type { Database, Row, Value } from './database.js';
import { rowApproval, conditions, encode, encodeOptional, lockRun, REASON_AFTER, touchThread } from './rows.js';
import { storeErrors } from '../store-errors.js';
import { stateAfter } from '../store-rules.js';

export type ParsedApproval = ReturnType<typeof ApprovalDraftSchema.parse>;

interface Settlement {
  readonly state: ApprovalState;
  readonly decision?: StoredDecision | undefined;
  readonly by?: string | undefined;
}

/** Maximum number of approvals that one statement adds. */
const MAX_PLACED = 500;

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

  /**
   * Replaces the approvals for which a suspended run waits. The caller calls `place` at the end of its transaction,
   * which adds the new ones. `isWaiting`: one of them is pending.
   */
  async ask(
    run: Run,
    drafts: readonly ParsedApproval[],
    now: number,
  ): Promise<{ readonly isWaiting: boolean; readonly place: () => Promise<void> }> {
    const named = new Set(drafts.map(({ request }) => request.approvalId));
    for (const row of await this.#pending(run.runId))
      if (!named.has(row.approval_id as string)) await this.settle(row, { state: 'cancelled' }, now);
    const added: ParsedApproval[] = [];
    for (const draft of drafts) if (!(await this.#isKnown(run, draft, now))) added.push(draft);
    return {
      isWaiting: added.some(({ decided }) => decided === undefined),
      place: async () => {
        for (let from = 0; from < added.length; from += MAX_PLACED)
          await this.#place(run, added.slice(from, from + MAX_PLACED), now);
      },
    };
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

  /** Whether the approval is stored. Stores its decision if it is pending. */
  async #isKnown({ runId }: Run, { request, decided }: ParsedApproval, now: number): Promise<boolean> {
    const { approvalId } = request;
    const known = await this.find(approvalId);
    if (known === undefined) return false;
    if (known.run_id !== runId) throw storeErrors.idExists('approval', approvalId);
    if (decided !== undefined && known.state === 'pending')
      await this.settle(known, { state: stateAfter(decided.decision), ...decided }, now);
    return true;
  }

  /** Adds approvals in one statement, because other transactions wait for the end of one that has positions. */
  async #place({ runId, threadId, principal }: Run, drafts: readonly ParsedApproval[], now: number): Promise<void> {
    const parameters: Record<string, Value> = { runId, threadId, principal: encode(principal) };
    const rows = drafts.map(({ request, decided }, index) => {
      const at = index === 0 ? '' : index;
      Object.assign(parameters, {
        [`approvalId${at}`]: request.approvalId,
        [`request${at}`]: encode(request),
        [`createdAt${at}`]: request.createdAt,
        [`expiresAt${at}`]: request.expiresAt ?? null,
        [`state${at}`]: decided === undefined ? 'pending' : stateAfter(decided.decision),
        [`decision${at}`]: encodeOptional(decided?.decision),
        [`decidedBy${at}`]: encodeOptional(decided?.by),
        [`decidedAt${at}`]: decided === undefined ? null : now,
      });
      return `(:approvalId${at}, :position${at}, :runId, :threadId, :principal, :request${at}, :createdAt${at},
        :expiresAt${at}, :state${at}, :decision${at}, :decidedBy${at}, :decidedAt${at})`;
    });
    const sql = `INSERT INTO approvals (approval_id, position, run_id, thread_id, principal, request, created_at,
      expires_at, state, decision, decided_by, decided_at) VALUES ${rows.join(', ')}`;
    await this.database.place([sql], parameters, drafts.length);
  }
}
