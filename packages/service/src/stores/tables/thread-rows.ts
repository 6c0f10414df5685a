import type { BranchPoint, NewThread, RunState, StorageBounds, Thread } from '@toolscript/core/protocol';
import { isFinalRunState, present } from '@toolscript/core/internal';
import type { Database, Row, Value } from './database.js';
import { copyDocuments } from './document-tables.js';
import { encode, encodeOptional, lockThread, refuseFullStorage, rowThread } from './rows.js';
import { storeErrors } from '../store-errors.js';
import { newStoreId, searchText } from '../store-rules.js';

/** The runs that a new thread copies. Call it last in the transaction: others wait for the positions of the copies. */
type PlaceCopies = () => Promise<void>;

/** Adds a thread, which must not exist yet. */
export async function insertThread(
  database: Database,
  draft: NewThread & { principal: string },
  now: number,
  bounds?: StorageBounds,
): Promise<{ threadId: string; placeCopies: PlaceCopies }> {
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
      bytes: branch?.runs.reduce((sum, run) => sum + (run.bytes as number), 0) ?? 0,
    },
  );
  if (branch === undefined) return { threadId, placeCopies: async () => {} };
  await refuseFullStorage(database, threadId, bounds, await copiedDocumentBytes(database, branch));
  const instructions =
    'INSERT INTO instructions SELECT :threadId, instructions FROM instructions WHERE thread_id = :from';
  await database.run(instructions, { threadId, from: branch.source.threadId });
  await copyDocuments(database, branch.source.threadId, threadId, branch.createdAt);
  const placeCopies = () => copyRuns(database, branch.runs, { threadId, workspace: encode(workspace) });
  return { threadId, placeCopies };
}

/**
 * The thread from which a branch starts, the runs that the branch copies, and the time at which the first run that it
 * does not copy was created.
 */
async function branchAt(database: Database, principal: string, { threadId, turnId, withTurn = false }: BranchPoint) {
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
  const end = withTurn ? await runAfter(database, threadId, here.position!) : here;
  const runs = await database.all(
    'SELECT * FROM runs WHERE thread_id = :threadId AND position < :before ORDER BY position',
    {
      threadId,
      before: end?.position ?? Number.MAX_SAFE_INTEGER,
    },
  );
  const open = runs.find(({ state }) => !isFinalRunState(state as RunState));
  if (open !== undefined) throw storeErrors.turnNotEnded(open.turn_id as string);
  return {
    source: rowThread(source!),
    runs,
    createdAt: (end?.created_at as number | undefined) ?? Number.MAX_SAFE_INTEGER,
  };
}

function runAfter(database: Database, threadId: string, position: Value): Promise<Row | undefined> {
  const sql = `SELECT position, created_at FROM runs WHERE thread_id = :threadId AND position > :position
    ORDER BY position LIMIT 1`;
  return database.first(sql, { threadId, position });
}

/** The bytes of the documents with which a branch begins. */
async function copiedDocumentBytes(
  database: Database,
  { source, createdAt }: Awaited<ReturnType<typeof branchAt>>,
): Promise<number> {
  const row = await database.first(
    `SELECT CAST(coalesce(sum(v.bytes), 0) AS BIGINT) AS bytes FROM documents d
    JOIN document_versions v ON v.shelf = d.shelf AND v.name = d.name
    WHERE d.thread_id = :threadId AND v.created_at <= :createdAt`,
    { threadId: source.threadId, createdAt },
  );
  return row!.bytes as number;
}

/** Copies the rows of runs, in the order of the columns. The copies share the transcripts. */
async function copyRuns(
  database: Database,
  runs: readonly Row[],
  thread: { readonly threadId: string; readonly workspace: string },
): Promise<void> {
  const positions = await database.nextPositions(runs.length);
  const copies = runs.map((run, index): Row => {
    const ids = { run_id: newStoreId('run'), position: positions[index]!, turn_id: newStoreId('turn') };
    return { ...run, ...ids, thread_id: thread.threadId, workspace: thread.workspace };
  });
  await database.insert(
    'runs',
    copies.map((copy) => Object.values(copy)),
  );
}

/** Deletes the transcripts that only runs of this thread have, with their events and these runs. */
export async function deleteTranscripts(database: Database, threadId: string): Promise<void> {
  const ofThread = 'transcript IN (SELECT transcript FROM runs WHERE thread_id = :threadId)';
  // If two threads are deleted at the same time, the second deletion sees the effect of the first one.
  const lock = `SELECT 1 FROM transcripts WHERE ${ofThread} ORDER BY transcript ${database.dialect.forUpdate}`;
  await database.all(lock, { threadId });
  await database.run(
    `DELETE FROM transcripts WHERE ${ofThread} AND NOT EXISTS (
      SELECT 1 FROM runs WHERE runs.transcript = transcripts.transcript AND runs.thread_id <> :threadId)`,
    { threadId },
  );
}
