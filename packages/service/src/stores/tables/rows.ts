import type { WorkerNotice } from '@toolscript/core/ports';
import type { Approval, Run, RunFence, StorageBounds, Thread, Turn } from '@toolscript/core/protocol';
import type { Database, Dialect, Parameters, Row, Value } from './database.js';
import { storeErrors } from '../store-errors.js';
import { storedJson } from '../stored-json.js';
import { checkBounds } from '../store-rules.js';

/** A value as a column stores it: JSON represents every string without loss. */
export function encode(value: unknown): string {
  return JSON.stringify(value);
}

export function encodeOptional(value: unknown): string | null {
  return value === undefined ? null : encode(value);
}

const decode = (value: Value | undefined) => storedJson(value as string) as ReturnType<typeof JSON.parse>;

/** An object whose only member is the value of a column; an empty object if the column is null. */
function optional<Name extends string, Type>(name: Name, value: Value | undefined, read: (value: Value) => Type) {
  return (value === null || value === undefined ? {} : { [name]: read(value) }) as { [Key in Name]?: Type };
}

const asNumber = (value: Value) => value as number;

/** The columns that `rowThread` reads. */
export const THREAD_COLUMNS = `threads.*, (
  SELECT state FROM runs WHERE runs.thread_id = threads.thread_id AND state IN ('queued', 'running', 'suspended')
  ORDER BY CASE state WHEN 'suspended' THEN 0 WHEN 'running' THEN 1 ELSE 2 END LIMIT 1) AS active_state, (
  SELECT state FROM runs WHERE runs.thread_id = threads.thread_id ORDER BY position DESC LIMIT 1) AS last_state`;

export function rowThread(row: Row): Thread {
  return {
    threadId: row.thread_id as string,
    principal: decode(row.principal),
    title: decode(row.title),
    workspace: decode(row.workspace),
    ...optional('agentId', row.agent_id, decode),
    ...optional('branchOf', row.branch_of, decode),
    ...optional('activeState', row.active_state, (state) => state as NonNullable<Thread['activeState']>),
    ...optional('lastState', row.last_state, (state) => state as NonNullable<Thread['lastState']>),
    createdAt: row.created_at as number,
    updatedAt: row.updated_at as number,
  };
}

export function rowRun(row: Row): Run {
  return {
    runId: row.run_id as string,
    threadId: row.thread_id as string,
    turnId: row.turn_id as string,
    principal: decode(row.principal),
    workspace: decode(row.workspace),
    state: row.state as Run['state'],
    reason: row.reason as Run['reason'],
    epoch: row.epoch as number,
    options: decode(row.options),
    needs: decode(row.needs),
    ...optional('owner', row.owner, decode),
    ...optional('leaseExpiresAt', row.lease_expires_at, asNumber),
    ...optional('leftBy', row.left_by, decode),
    ...(isCopy(row) ? { isCopy: true } : {}),
    ...(row.deaths === 0 ? {} : { deaths: row.deaths as number }),
    ...optional('parked', row.parked, decode),
    ...optional('cancelRequestedAt', row.cancel_requested_at, asNumber),
    createdAt: row.created_at as number,
    updatedAt: row.updated_at as number,
    ...optional('error', row.error, decode),
  };
}

export function rowWorker(row: Row): WorkerNotice {
  return {
    workerId: row.worker_id as string,
    opens: decode(row.opens),
    ...optional('workspaces', row.workspaces, (texts) => decode(texts).map(decode)),
    leaseMs: row.lease_ms as number,
  };
}

/** The reason of the next claim of a suspended run. */
export const REASON_AFTER = `CASE WHEN parked IS NULL THEN 'resumed' ELSE 'interrupted' END`;

/** Needs as a column stores them: each once, sorted. */
export function encodeNeeds(needs: readonly string[] = []): string {
  return encode([...new Set(needs)].toSorted());
}

export function runTurn(run: Run, input: Value | undefined): Turn {
  const { turnId, threadId, runId, createdAt } = run;
  return { turnId, threadId, runId, input: decode(input), createdAt };
}

export function rowApproval(row: Row): Approval {
  return {
    approvalId: row.approval_id as string,
    runId: row.run_id as string,
    threadId: row.thread_id as string,
    principal: decode(row.principal),
    request: decode(row.request),
    createdAt: row.created_at as number,
    ...optional('expiresAt', row.expires_at, asNumber),
    state: row.state as Approval['state'],
    ...optional('decision', row.decision, decode),
    ...optional('decidedBy', row.decided_by, decode),
    ...optional('decidedAt', row.decided_at, asNumber),
  };
}

/** The conditions of a query, one for each column that has a value. */
export function conditions(
  { isLongText }: Dialect,
  columns: Readonly<Record<string, Value | undefined>>,
): {
  sql: string;
  parameters: Parameters;
} {
  const asked = Object.entries(columns).filter((entry): entry is [string, Value] => entry[1] !== undefined);
  const sql = asked
    .map(([column]) => (column === 'principal' ? isLongText(column, ':principal') : `${column} = :${column}`))
    .join(' AND ');
  return { sql: sql === '' ? 'TRUE' : sql, parameters: Object.fromEntries(asked) };
}

/**
 * Throws a `StorageLimitError` if the thread, or all threads and documents of its principal together, exceed the bounds.
 * `added`: bytes that the thread will also have.
 */
export async function refuseFullStorage(
  database: Database,
  threadId: string,
  bounds: StorageBounds | undefined,
  added = 0,
): Promise<void> {
  if (bounds === undefined) return;
  const { principal, bytes } = (await database.first(
    `SELECT principal, CAST(bytes + coalesce(
      (SELECT sum(shelves.bytes) FROM shelves WHERE shelves.thread_id = :threadId), 0) AS BIGINT) AS bytes
    FROM threads WHERE thread_id = :threadId`,
    { threadId },
  ))!;
  const { sql, parameters } = conditions(database.dialect, { principal: principal! });
  const all = await database.first(
    `SELECT CAST((SELECT coalesce(sum(bytes), 0) FROM threads WHERE ${sql})
      + (SELECT coalesce(sum(bytes), 0) FROM shelves WHERE ${sql}) AS BIGINT) AS total`,
    parameters,
  );
  checkBounds({ thread: (bytes as number) + added, principal: (all!.total as number) + added }, bounds);
}

export function findRun(database: Database, runId: string, principal?: string): Promise<Row | undefined> {
  const { sql, parameters } = conditions(database.dialect, { run_id: runId, principal });
  return database.first(`SELECT * FROM runs WHERE ${sql}`, parameters);
}

/**
 * Finds the run, and locks it until the transaction ends. Transactions lock the run first, then the thread, then the
 * position.
 */
export function lockRun(database: Database, runId: string): Promise<Row | undefined> {
  return database.first(`SELECT * FROM runs WHERE run_id = :runId ${database.dialect.forUpdate}`, { runId });
}

export function lockThread(database: Database, threadId: string): Promise<Row | undefined> {
  return database.first(`SELECT * FROM threads WHERE thread_id = :threadId ${database.dialect.forUpdate}`, {
    threadId,
  });
}

/** Whether a branch has made the run as a copy: its transcript is that of another run. */
export function isCopy(row: Row): boolean {
  return row.transcript !== row.position;
}

export async function transcriptInput(database: Database, transcript: Value): Promise<Value> {
  const sql = 'SELECT input FROM transcripts WHERE transcript = :transcript';
  return (await database.first(sql, { transcript }))!.input!;
}

/** Locks the run. Throws a `StaleEpochError` for a writer that does not hold the run. */
export async function heldRun(database: Database, { runId, epoch }: RunFence): Promise<Row> {
  const row = await lockRun(database, runId);
  // defence: only-the-holder-writes
  if (row?.epoch === epoch && row.state === 'running') return row;
  throw storeErrors.runNotHeld(runId, epoch);
}

/**
 * Locks the run. Throws a `StaleEpochError` if the run was claimed again or deleted. A task of the run may write after
 * the run has ended.
 */
export async function requireLatestClaim(database: Database, { runId, epoch }: RunFence): Promise<void> {
  // defence: only-the-latest-claim-changes-documents
  if ((await lockRun(database, runId))?.epoch !== epoch) throw storeErrors.runNotHeld(runId, epoch);
}

/** Records that the thread has changed, and has `added` more bytes. */
export async function touchThread(database: Database, threadId: string, now: number, added = 0): Promise<void> {
  const changed = await database.nextNumber();
  await database.run(
    `UPDATE threads SET updated_at = :now, changed = :changed, bytes = bytes + :added WHERE thread_id = :threadId`,
    { threadId, now, changed, added },
  );
}
