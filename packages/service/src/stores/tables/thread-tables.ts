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
import type { DecidedApproval, EventRange, RunIdentity, ThreadDraft, ThreadInstructions } from '@toolscript/core/ports';
import { ApprovalTables } from './approval-tables.js';
import type { Database, Row, Value } from './database.js';
import { deleteThreadVersions } from './document-tables.js';
import { addEvents, eventCount, readEvents, type TextPage } from './event-tables.js';
import {
  rowApproval,
  conditions,
  encode,
  findRun,
  heldRun,
  isCopy,
  lockRun,
  lockThread,
  THREAD_COLUMNS,
  rowThread,
  touchThread,
  transcriptInput,
} from './rows.js';
import { deleteTranscripts, insertThread } from './thread-rows.js';
import type { EventBatch } from '../event-batches.js';
import { storeErrors } from '../store-errors.js';
import { searchText } from '../store-rules.js';

export interface ThreadFilters {
  readonly filters: Readonly<Record<string, string | undefined>>;
  readonly searched: string | undefined;
  readonly after: number;
  readonly limit: number;
}

/** A turn whose items are JSON texts, each on a line. The main thread of the caller parses them in slices. */
export interface FoldedTurn {
  readonly turnId: string;
  readonly runId: string;
  readonly state: RunState;
  readonly createdAt: number;
  readonly items: string;
}

/** A page of the events of a run. `copiedTo`: the run, if a branch has made it as a copy; the events name the original. */
interface TranscriptPage extends TextPage {
  readonly copiedTo: RunIdentity | undefined;
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
          SELECT 1 FROM runs JOIN transcripts USING (transcript)
          WHERE runs.thread_id = threads.thread_id AND ${contains('transcripts.searched')}))
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
      await deleteTranscripts(this.database, threadId);
      await deleteThreadVersions(this.database, threadId);
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
        if (isCopy(row)) throw storeErrors.eventOfCopy(runId);
        const transcript = row.transcript as number;
        const nextSeq = await eventCount(this.database, transcript);
        const { added, length } = await addEvents(this.database, { table: 'events', key: transcript }, batch, nextSeq);
        if (added === 0) return nextSeq;
        await this.database.run('UPDATE runs SET bytes = bytes + :length WHERE run_id = :runId', { runId, length });
        await touchThread(this.database, row.thread_id as string, now, length);
        await this.database.run('DELETE FROM folded_transcripts WHERE transcript = :transcript', { transcript });
        return nextSeq + added;
      },
      { flush: false },
    );
  }

  async nextSeq(runId: string): Promise<number> {
    const row = await findRun(this.database, runId);
    return row === undefined ? 0 : eventCount(this.database, row.transcript!);
  }

  readEvents(runId: string, range: EventRange): Promise<TranscriptPage> {
    return this.database.read(async () => {
      const row = await findRun(this.database, runId);
      if (row === undefined) return { texts: [], next: undefined, copiedTo: undefined };
      const page = await readEvents(this.database, { table: 'events', key: row.transcript! }, range);
      const names = { runId, threadId: row.thread_id as string, turnId: row.turn_id as string };
      return { ...page, copiedTo: isCopy(row) ? names : undefined };
    });
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
    const transcript = row.transcript!;
    const kept = 'SELECT items FROM folded_transcripts WHERE transcript = :transcript';
    const known = await this.database.first(kept, { transcript });
    const fold =
      known === undefined
        ? await this.#fold(transcript)
        : { items: known.items as string, eventCount: 0, isEnded: false };
    const { items, eventCount, isEnded } = fold;
    const names = { turnId: row.turn_id as string, runId, state, createdAt: row.created_at as number };
    return { turn: { ...names, items }, transcript, eventCount, isNewAndFinal: isEnded && isFinalRunState(state) };
  }

  async #fold(transcript: Value): Promise<{ items: string; eventCount: number; isEnded: boolean }> {
    const input = await transcriptInput(this.database, transcript);
    const sql = 'SELECT event FROM events WHERE transcript = :transcript ORDER BY seq';
    const rows = await this.database.all(sql, { transcript });
    const events = rows.map(({ event }) => JSON.parse(event as string) as StreamEvent);
    const items = runItems(JSON.parse(input as string) as OutputItem[], events)
      .map(encode)
      .join('\n');
    const last = events.at(-1);
    return { items, eventCount: events.length, isEnded: last !== undefined && endsRun(last.payload) };
  }

  /** Stores folds. Skips a transcript if it was deleted, or if it received an event, after the fold. */
  #keepFolds(folds: readonly Fold[]): Promise<void> {
    const { forUpdate } = this.database.dialect;
    const keep = async ({ turn: { items }, transcript, eventCount }: Fold) => {
      // Only the run that the transcript is of receives events. A writer of events has locked this run.
      await this.database.first(`SELECT 1 FROM runs WHERE position = :transcript ${forUpdate}`, { transcript });
      await this.database.run(
        `INSERT INTO folded_transcripts
        SELECT :transcript, :items WHERE (SELECT max(seq) + 1 FROM events WHERE transcript = :transcript) = :eventCount
        ON CONFLICT DO NOTHING`,
        { transcript, items, eventCount },
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
  readonly transcript: Value;
  readonly eventCount: number;
  /** Whether the run has a final state, and the table lacks its fold. */
  readonly isNewAndFinal: boolean;
}
