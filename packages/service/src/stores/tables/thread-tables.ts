import { runItems } from '@toolscript/core/history';
import type {
  Approval,
  OutputItem,
  RunFence,
  RunState,
  StoredDecision,
  StreamEvent,
  Thread,
} from '@toolscript/core/protocol';
import { isFinalRunState } from '@toolscript/core/internal';
import { endsRun } from '@toolscript/core/stream';
import type { DecidedApproval, ThreadDraft, ThreadInstructions } from '@toolscript/core/ports';
import { ApprovalTables } from './approval-tables.js';
import type { Database, Row } from './database.js';
import { addEvents, eventCount, readEvents, type TextPage } from './event-tables.js';
import {
  rowApproval,
  conditions,
  encode,
  heldRun,
  lockRun,
  lockThread,
  THREAD_COLUMNS,
  rowThread,
  touchThread,
} from './rows.js';
import { insertThread } from './thread-rows.js';
import type { EventBatch } from '../event-batches.js';
import { storeErrors } from '../store-errors.js';
import { searchText } from '../store-rules.js';

export interface ThreadFilters {
  readonly filters: Readonly<Record<string, string | undefined>>;
  readonly searched: string | undefined;
  readonly after: number;
  readonly limit: number;
}

/** A turn whose items are JSON text. The main thread of the caller parses this text. */
export interface FoldedTurn {
  readonly turnId: string;
  readonly runId: string;
  readonly state: RunState;
  readonly createdAt: number;
  readonly items: string;
}

/** A page ends when the items of its turns reach this number of UTF-16 units. */
const MAX_PAGE_LENGTH = 1_048_576;

/** Threads in the database; each function is one transaction. */
export class ThreadTables {
  readonly #approvals: ApprovalTables;

  constructor(readonly database: Database) {
    this.#approvals = new ApprovalTables(database);
  }

  create(draft: ThreadDraft, now: number): Promise<Thread> {
    return this.database.write(async () => {
      if (draft.threadId !== undefined && (await this.get(draft.threadId)) !== undefined)
        throw storeErrors.idExists('thread', draft.threadId);
      return (await this.get(await insertThread(this.database, draft, now)))!;
    });
  }

  async get(threadId: string, principal?: string): Promise<Thread | undefined> {
    const { sql, parameters } = conditions(this.database.dialect, { thread_id: threadId, principal });
    const row = await this.database.first(`SELECT ${THREAD_COLUMNS} FROM threads WHERE ${sql}`, parameters);
    return row && rowThread(row);
  }

  async list({
    filters,
    searched,
    after,
    limit,
  }: ThreadFilters): Promise<{ threads: Thread[]; next: number | undefined }> {
    const { sql, parameters } = conditions(this.database.dialect, filters);
    const contains = (column: string) => this.database.dialect.contains(column, ':searched');
    const rows = await this.database.all(
      `SELECT ${THREAD_COLUMNS} FROM threads WHERE ${sql} AND changed < :after
        AND (:searched IS NULL OR ${contains('threads.searched')} OR EXISTS (
          SELECT 1 FROM turns WHERE turns.thread_id = threads.thread_id AND ${contains('turns.searched')}))
      ORDER BY changed DESC LIMIT :limit`,
      { ...parameters, searched: searched ?? null, after, limit: limit + 1 },
    );
    const page = rows.slice(0, limit);
    return {
      threads: page.map(rowThread),
      next: page.length < rows.length ? (page.at(-1)!.changed as number) : undefined,
    };
  }

  rename(threadId: string, title: string, now: number): Promise<Thread | undefined> {
    return this.database.write(async () => {
      const change = { threadId, title: encode(title), searched: searchText(title) };
      await this.database.run(
        'UPDATE threads SET title = :title, searched = :searched WHERE thread_id = :threadId',
        change,
      );
      await touchThread(this.database, threadId, now);
      return this.get(threadId);
    });
  }

  delete(threadId: string): Promise<{ runIds: string[]; principal: string | undefined }> {
    return this.database.write(async () => {
      const thread = await lockThread(this.database, threadId);
      const runs = await this.database.all('SELECT run_id FROM runs WHERE thread_id = :threadId', { threadId });
      await this.database.run('DELETE FROM threads WHERE thread_id = :threadId', { threadId });
      const runIds = runs.map((row) => row.run_id as string);
      return { runIds, principal: thread && (JSON.parse(thread.principal as string) as string) };
    });
  }

  async instructions(threadId: string): Promise<ThreadInstructions | undefined> {
    const row = await this.database.first('SELECT instructions FROM instructions WHERE thread_id = :threadId', {
      threadId,
    });
    return row && (JSON.parse(row.instructions as string) as ThreadInstructions);
  }

  saveInstructions(
    threadId: string,
    instructions: ThreadInstructions,
    fence: RunFence | undefined,
    now: number,
  ): Promise<void> {
    return this.database.write(async () => {
      if (fence !== undefined) await heldRun(this.database, fence);
      if ((await lockThread(this.database, threadId)) === undefined) throw storeErrors.notFound('thread', threadId);
      const change = { threadId, instructions: encode(instructions) };
      await this.database.run(
        `INSERT INTO instructions VALUES (:threadId, :instructions)
        ON CONFLICT (thread_id) DO UPDATE SET instructions = excluded.instructions`,
        change,
      );
      const agent = { threadId, agentId: encode(instructions.agentId) };
      await this.database.run('UPDATE threads SET agent_id = :agentId WHERE thread_id = :threadId', agent);
      await touchThread(this.database, threadId, now);
    });
  }

  append(batch: EventBatch, epoch: number | undefined, now: number): Promise<number> {
    return this.database.write(
      async () => {
        const { runId } = batch;
        const row = await (epoch === undefined
          ? lockRun(this.database, runId)
          : heldRun(this.database, { runId, epoch }));
        if (row === undefined) throw storeErrors.notFound('run', runId);
        const nextSeq = await eventCount(this.database, runId);
        const { added, length } = await addEvents(this.database, 'events', batch, nextSeq);
        if (added > 0) await touchThread(this.database, row.thread_id as string, now, length);
        if (added > 0) await this.database.run('DELETE FROM folded_runs WHERE run_id = :runId', { runId });
        return nextSeq + added;
      },
      { flush: false },
    );
  }

  nextSeq(runId: string): Promise<number> {
    return eventCount(this.database, runId);
  }

  readEvents(range: { runId: string; from?: number | undefined; limit?: number | undefined }): Promise<TextPage> {
    return this.database.read(() => readEvents(this.database, 'events', range));
  }

  async readItems(
    threadId: string,
    after: number,
    limit: number,
  ): Promise<{ turns: FoldedTurn[]; next: number | undefined }> {
    const page = await this.database.read(async () => {
      const rows = await this.database.all(
        'SELECT * FROM runs WHERE thread_id = :threadId AND position > :after ORDER BY position LIMIT :limit',
        { threadId, after, limit: limit + 1 },
      );
      const folds: Fold[] = [];
      for (let length = 0; folds.length < Math.min(limit, rows.length) && length < MAX_PAGE_LENGTH;) {
        const fold = await this.#runFold(rows[folds.length]!);
        length += fold.turn.items.length;
        folds.push(fold);
      }
      return { folds, next: folds.length < rows.length ? (rows[folds.length - 1]!.position as number) : undefined };
    });
    const made = page.folds.filter(({ isNewAndFinal }) => isNewAndFinal);
    if (made.length > 0) await this.#keepFolds(made);
    return { turns: page.folds.map(({ turn }) => turn), next: page.next };
  }

  async approval(approvalId: string, principal?: string): Promise<Approval | undefined> {
    const row = await this.#approvals.find(approvalId, principal);
    return row && rowApproval(row);
  }

  listApprovals(query: Parameters<ApprovalTables['list']>[0]) {
    return this.database.read(() => this.#approvals.list(query));
  }

  decide(approvalId: string, decision: StoredDecision, by: string, now: number): Promise<DecidedApproval | undefined> {
    return this.database.write(() => this.#approvals.decide(approvalId, decision, by, now));
  }

  expireApprovals(now: number): Promise<Approval[]> {
    return this.database.write(() => this.#approvals.expire(now));
  }

  async #runFold(row: Row): Promise<Fold> {
    const runId = row.run_id as string;
    const state = row.state as RunState;
    const known = await this.database.first('SELECT items FROM folded_runs WHERE run_id = :runId', { runId });
    const fold =
      known === undefined ? await this.#fold(runId) : { items: known.items as string, eventCount: 0, isEnded: false };
    const { items, eventCount, isEnded } = fold;
    const names = { turnId: row.turn_id as string, runId, state, createdAt: row.created_at as number };
    return { turn: { ...names, items }, eventCount, isNewAndFinal: isEnded && isFinalRunState(state) };
  }

  async #fold(runId: string): Promise<{ items: string; eventCount: number; isEnded: boolean }> {
    const turn = (await this.database.first('SELECT input FROM turns WHERE run_id = :runId', { runId }))!;
    const rows = await this.database.all('SELECT event FROM events WHERE run_id = :runId ORDER BY seq', { runId });
    const events = rows.map(({ event }) => JSON.parse(event as string) as StreamEvent);
    const items = encode(runItems(JSON.parse(turn.input as string) as OutputItem[], events));
    const last = events.at(-1);
    return { items, eventCount: events.length, isEnded: last !== undefined && endsRun(last.payload) };
  }

  /** Stores folds. Skips a run if it was deleted, or if it received an event, after the fold. */
  #keepFolds(folds: readonly Fold[]): Promise<void> {
    const keep = async ({ turn: { runId, items }, eventCount }: Fold) => {
      await lockRun(this.database, runId);
      await this.database.run(
        `INSERT INTO folded_runs
        SELECT :runId, :items WHERE (SELECT max(seq) + 1 FROM events WHERE run_id = :runId) = :eventCount
        ON CONFLICT DO NOTHING`,
        { runId, items, eventCount },
      );
    };
    return this.database.write(
      async () => {
        for (const fold of folds) await keep(fold);
      },
      { flush: false },
    );
  }
}

interface Fold {
  readonly turn: FoldedTurn;
  readonly eventCount: number;
  /** Whether the run has a final state, and the table lacks its fold. */
  readonly isNewAndFinal: boolean;
}
