import type { BranchPoint, NewThread, RunState, StorageBounds, StreamEvent, Thread } from '@toolscript/core/protocol';
import { isFinalRunState, present } from '@toolscript/core/internal';
import type { Database, Row } from './database.js';
import { copyDocuments } from './document-tables.js';
import { insertEvents } from './event-tables.js';
import { encode, encodeOptional, lockThread, refuseFullStorage, rowThread } from './rows.js';
import { eventOfRun } from '../event-batches.js';
import { storeErrors } from '../store-errors.js';
import { newStoreId, searchText } from '../store-rules.js';

/** Adds a thread, which must not exist yet. Returns its id. */
export async function insertThread(
  database: Database,
  draft: NewThread & { principal: string },
  now: number,
  bounds?: StorageBounds,
): Promise<string> {
  const { threadId = newStoreId('thr'), principal, branchOf } = draft;
  const branch = branchOf === undefined ? undefined : await branchAt(database, principal, branchOf);
  const { title = '', workspace = '', agentId }: Partial<Thread> = { ...branch?.source, ...present(draft) };
  await database.run(
    `INSERT INTO threads VALUES
    (:threadId, :principal, :title, :workspace, :agentId, :now, :now, :changed, :searched, :branchOf, :bytes)`,
    {
      threadId,
      principal: encode(principal),
      title: encode(title),
      workspace: encode(workspace),
      agentId: encodeOptional(agentId),
      now,
      changed: await database.nextNumber(),
      searched: searchText(title),
      branchOf: encodeOptional(branchOf),
      bytes: branch === undefined ? 0 : await branchBytes(database, branch),
    },
  );
  if (branch === undefined) return threadId;
  await refuseFullStorage(database, threadId, bounds);
  const instructions =
    'INSERT INTO instructions SELECT :threadId, instructions FROM instructions WHERE thread_id = :from';
  await database.run(instructions, { threadId, from: branch.source.threadId });
  for (const run of branch.runs) await copyRun(database, run, threadId);
  await copyDocuments(database, branch.source.threadId, threadId, branch.createdAt);
  return threadId;
}

/** The thread from which a branch starts, and its runs before the turn `turnId`. */
async function branchAt(database: Database, principal: string, { threadId, turnId }: BranchPoint) {
  const source = await lockThread(database, threadId);
  // defence: branches-stay-with-their-owner
  if (source?.principal !== encode(principal)) throw storeErrors.notFound('thread', threadId);
  const here = await database.first(
    'SELECT position, created_at FROM runs WHERE thread_id = :threadId AND turn_id = :turnId',
    {
      threadId,
      turnId,
    },
  );
  if (here === undefined) throw storeErrors.notFound('turn', turnId);
  const runs = await database.all(
    'SELECT * FROM runs WHERE thread_id = :threadId AND position < :before ORDER BY position',
    {
      threadId,
      before: here.position!,
    },
  );
  const open = runs.find(({ state }) => !isFinalRunState(state as RunState));
  if (open !== undefined) throw storeErrors.turnNotEnded(open.turn_id as string);
  return { source: rowThread(source!), runs, createdAt: here.created_at as number };
}

/** The bytes that a branch copies. */
async function branchBytes(
  database: Database,
  { source, runs, createdAt }: Awaited<ReturnType<typeof branchAt>>,
): Promise<number> {
  const last = (runs.at(-1)?.position as number | undefined) ?? 0;
  const row = await database.first(
    `SELECT CAST(
      (SELECT coalesce(sum(length), 0) FROM events JOIN runs ON runs.run_id = events.run_id
        WHERE runs.thread_id = :threadId AND position <= :last)
      + (SELECT coalesce(sum(length(input)), 0) FROM turns JOIN runs ON runs.run_id = turns.run_id
        WHERE runs.thread_id = :threadId AND position <= :last)
      + (SELECT coalesce(sum(v.bytes), 0) FROM documents d
        JOIN document_versions v ON v.shelf = d.shelf AND v.name = d.name
        WHERE d.thread_id = :threadId AND v.created_at <= :createdAt)
    AS BIGINT) AS bytes`,
    { threadId: source.threadId, last, createdAt },
  );
  return row!.bytes as number;
}

async function copyRun(database: Database, run: Row, threadId: string): Promise<void> {
  const from = run.run_id as string;
  const ids = { runId: newStoreId('run'), turnId: newStoreId('turn'), threadId };
  const { runId } = ids;
  await database.run(
    `INSERT INTO runs SELECT :runId, :position, threads.thread_id, :turnId, threads.principal, threads.workspace,
      state, reason, epoch, options, owner, lease_ms, lease_expires_at, left_by, deaths, cancel_requested_at,
      runs.created_at, runs.updated_at, error, parked
    FROM runs, threads WHERE run_id = :from AND threads.thread_id = :threadId`,
    { ...ids, from, position: await database.nextPosition() },
  );
  const turn = 'INSERT INTO turns SELECT :runId, :threadId, input, searched FROM turns WHERE run_id = :from';
  await database.run(turn, { runId, threadId, from });
  await database.run('INSERT INTO folded_runs SELECT :runId, items FROM folded_runs WHERE run_id = :from', {
    runId,
    from,
  });
  const events = await database.all('SELECT seq, event FROM events WHERE run_id = :from', { from });
  const copies = events.map(({ seq, event }) => [seq as number, copiedEvent(event as string, ids)] as const);
  await insertEvents(database, 'events', runId, copies);
}

function copiedEvent(event: string, ids: Parameters<typeof eventOfRun>[1]): string {
  return encode(eventOfRun(JSON.parse(event) as StreamEvent, ids));
}
