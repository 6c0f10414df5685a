import { present } from '@toolscript/core/internal';
import type { Approval, OutputItem, RunFence, RunState, StoredDecision, Thread } from '@toolscript/core/protocol';
import type { DecidedApproval, EventRange, RunIdentity, ThreadDraft, ThreadInstructions } from '@toolscript/core/ports';
import { ApprovalTables } from './approval-tables.js';
import type { Database, Row } from './database.js';
import { deleteThreadVersions } from './document-tables.js';
import { deleteThreadHeaps } from './heap-tables.js';
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
import { storedJson } from '../stored-json.js';
import { addedSearchText, isInState, MAX_TURN_SEARCHED, searchText } from '../store-rules.js';

export interface ThreadFilters {
  readonly filters: Readonly<Record<string, string | undefined>>;
  readonly after: number;
  readonly limit: number;
}

/** The conditions that no index serves. */
export interface ThreadSearch {
  /** See `searchText`. */
  readonly searched: string;
  readonly state: RunState | undefined;
}

export interface SearchedThreads {
  readonly found: readonly { readonly thread: Thread; readonly changed: number }[];
  readonly next: number | undefined;
}

/** Maximum number of threads that one call searches. */
const MAX_SEARCHED_THREADS = 10;

/**
 * A turn as JSON texts, from which the caller makes the items in slices: the kept items, each on a line, or else the
 * items and events that they are folded from. `events`: the first page of the run's events.
 */
export interface TurnTexts {
  readonly turnId: string;
  readonly runId: string;
  readonly state: RunState;
  readonly createdAt: number;
  readonly cancelRequestedAt?: number | undefined;
  readonly content: { readonly items: string } | { readonly input: readonly string[]; readonly events: TextPage };
}

/** The items of an ended run, as JSON texts, each on a line. `eventCount`: the number of events they are folded from. */
export interface FoldedItems {
  readonly runId: string;
  readonly items: string;
  readonly eventCount: number;
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
      const { threadId, placeCopies } = await insertThread(this.database, draft, now);
      await placeCopies();
      return (await this.get(threadId))!;
    });
  }

  async get(threadId: string, principal?: string): Promise<Thread | undefined> {
    const { sql, parameters } = conditions(this.database.dialect, { thread_id: threadId, principal });
    const row = await this.database.first(`SELECT ${THREAD_COLUMNS} FROM threads WHERE ${sql}`, parameters);
    return row && rowThread(row);
  }

  async list({ filters, after, limit }: ThreadFilters): Promise<{ threads: Thread[]; next: number | undefined }> {
    const { sql, parameters } = conditions(this.database.dialect, filters);
    const rows = await this.database.all(
      `SELECT ${THREAD_COLUMNS} FROM threads WHERE ${sql} AND changed < :after ORDER BY changed DESC LIMIT :limit`,
      { ...parameters, after, limit: limit + 1 },
    );
    const page = rows.slice(0, limit);
    return {
      threads: page.map(rowThread),
      next: page.length < rows.length ? (page.at(-1)!.changed as number) : undefined,
    };
  }

  /** Searches a few threads. `next`: where the search continues; undefined after the last thread. */
  async search(
    { searched, state }: ThreadSearch,
    { filters, after }: Omit<ThreadFilters, 'limit'>,
  ): Promise<SearchedThreads> {
    const { sql, parameters } = conditions(this.database.dialect, filters);
    const contains = (column: string) => this.database.dialect.contains(column, ':searched');
    const rows = await this.database.all(
      `SELECT ${THREAD_COLUMNS}, CASE WHEN ${contains('threads.searched')} OR EXISTS (
          SELECT 1 FROM runs JOIN transcripts USING (transcript)
          WHERE runs.thread_id = threads.thread_id AND ${contains('transcripts.searched')}) THEN 1 ELSE 0 END AS is_found
      FROM threads WHERE ${sql} AND changed < :after ORDER BY changed DESC LIMIT ${MAX_SEARCHED_THREADS}`,
      { ...parameters, searched, after },
    );
    const found = rows
      .filter(({ is_found: isFound }) => isFound === 1)
      .map((row) => ({ thread: rowThread(row), changed: row.changed as number }))
      .filter(({ thread }) => isInState(thread, state));
    return { found, next: rows.length === MAX_SEARCHED_THREADS ? (rows.at(-1)!.changed as number) : undefined };
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
      await deleteThreadHeaps(this.database, threadId);
      await this.database.run('DELETE FROM threads WHERE thread_id = :threadId', { threadId });
      const runIds = runs.map((row) => row.run_id as string);
      return { runIds, principal: thread && (JSON.parse(thread.principal as string) as string) };
    });
  }

  async instructions(threadId: string): Promise<ThreadInstructions | undefined> {
    const row = await this.database.first('SELECT instructions FROM instructions WHERE thread_id = :threadId', {
      threadId,
    });
    return row && (storedJson(row.instructions as string) as ThreadInstructions);
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
        await this.#addSearched(transcript, batch.searched.slice(-added));
        await this.database.run('DELETE FROM folded_transcripts WHERE transcript = :transcript', { transcript });
        return nextSeq + added;
      },
      { flush: false },
    );
  }

  async #addSearched(transcript: number, texts: readonly string[]): Promise<void> {
    const text = addedSearchText(texts);
    if (text === '') return;
    const sql = `UPDATE transcripts SET searched = substr(searched || :text, 1, ${MAX_TURN_SEARCHED})
      WHERE transcript = :transcript`;
    await this.database.run(sql, { transcript, text });
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

  readItems(threadId: string, after: number, limit: number): Promise<{ turns: TurnTexts[]; next: number | undefined }> {
    return this.database.read(async () => {
      const rows = await this.database.all(
        'SELECT * FROM runs WHERE thread_id = :threadId AND position > :after ORDER BY position LIMIT :limit',
        { threadId, after, limit: limit + 1 },
      );
      const turns: TurnTexts[] = [];
      for (let length = 0; turns.length < Math.min(limit, rows.length) && length < MAX_PAGE_LENGTH;) {
        const turn = await this.#turnTexts(rows[turns.length]!);
        length += contentLength(turn.content);
        turns.push(turn);
      }
      return { turns, next: turns.length < rows.length ? (rows[turns.length - 1]!.position as number) : undefined };
    });
  }

  /** Keeps the items of an ended run. Does nothing if the run was deleted, or received an event, after the fold. */
  keepItems({ runId, items, eventCount }: FoldedItems): Promise<void> {
    return this.database.write(
      async () => {
        const { forUpdate } = this.database.dialect;
        const row = await findRun(this.database, runId);
        if (row === undefined) return;
        const transcript = row.transcript!;
        // Only the run that the transcript is of receives events. A writer of events has locked this run.
        await this.database.first(`SELECT 1 FROM runs WHERE position = :transcript ${forUpdate}`, { transcript });
        await this.database.run(
          `INSERT INTO folded_transcripts
          SELECT :transcript, :items WHERE (SELECT max(seq) + 1 FROM events WHERE transcript = :transcript) = :eventCount
          ON CONFLICT DO NOTHING`,
          { transcript, items, eventCount },
        );
      },
      { flush: false },
    );
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

  async #turnTexts(row: Row): Promise<TurnTexts> {
    const { turn_id: turnId, run_id: runId, state, created_at: createdAt } = row;
    const cancelRequestedAt = row.cancel_requested_at ?? undefined;
    const names = { turnId, runId, state, createdAt, ...present({ cancelRequestedAt }) } as Omit<TurnTexts, 'content'>;
    const transcript = row.transcript!;
    const kept = 'SELECT items FROM folded_transcripts WHERE transcript = :transcript';
    const known = await this.database.first(kept, { transcript });
    if (known !== undefined) return { ...names, content: { items: known.items as string } };
    const input = (storedJson((await transcriptInput(this.database, transcript)) as string) as OutputItem[]).map(
      encode,
    );
    const events = await readEvents(this.database, { table: 'events', key: transcript }, {});
    return { ...names, content: { input, events } };
  }
}

function contentLength(content: TurnTexts['content']): number {
  if ('items' in content) return content.items.length;
  return [...content.input, ...content.events.texts].reduce((sum, text) => sum + text.length, 0);
}
