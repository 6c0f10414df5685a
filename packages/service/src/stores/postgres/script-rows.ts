import { ToolscriptUsageError } from '@toolscript/core/protocol';
import type {
  Claim,
  JournalContent,
  ListedScript,
  ListQuery,
  ScriptPage,
  ScriptStatus,
  StoredState,
  TakeOptions,
  ClaimedJournal,
} from '@toolscript/core/ports';
import { checkJournalLines } from '@toolscript/core/internal';
import type { Parameters, Row } from '../tables/database.js';
import { encode } from '../tables/rows.js';
import type { PostgresConnection } from './connection.js';
import { statusChange, statusParameters, storedLines } from './script-append.js';

/** The condition `isLeaseHeld` of the protocol, by the server's clock. */
const IS_HELD = '(lease_expires_at > NOW_MS AND lease_expires_at <= NOW_MS + 2 * lease_ms)';

const HELD = `CASE WHEN ${IS_HELD} THEN 1 ELSE 0 END AS is_held`;

const STATE_CONDITIONS: Readonly<Record<StoredState, string>> = {
  running: `state = 'running' AND ${IS_HELD}`,
  interrupted: `state = 'running' AND NOT ${IS_HELD}`,
  suspended: `state = 'suspended'`,
  ended: `state = 'ended'`,
  damaged: 'FALSE',
};

export async function readClaim(connection: PostgresConnection, scriptId: string): Promise<Claim | undefined> {
  const sql = `SELECT epoch, owner, lease_expires_at, ${HELD} FROM scripts WHERE script_id = :scriptId`;
  const row = await connection.first(sql, { scriptId });
  if (row === undefined) return undefined;
  return {
    epoch: row.epoch as number,
    isHeld: row.is_held === 1,
    owner: JSON.parse(row.owner as string) as string,
    expiresAtMs: row.lease_expires_at as number,
  };
}

interface Take {
  readonly scriptId: string;
  readonly fromEpoch: number;
  /** Identifies this call, so that a repetition finds the rows of the first attempt. */
  readonly write: string;
}

/** Claims a script in one transaction. Writers with older epochs wait for the transaction, and are stale afterwards. */
export async function takeScript(
  connection: PostgresConnection,
  { scriptId, fromEpoch, write }: Take,
  { owner, leaseMs, force = false, lines = [], status }: TakeOptions,
): Promise<ClaimedJournal | undefined> {
  checkJournalLines(lines);
  return connection.write(async () => {
    if (fromEpoch === 0) await addScript(connection, scriptId);
    const sql = `SELECT epoch, last_write, ${HELD} FROM scripts WHERE script_id = :scriptId FOR NO KEY UPDATE`;
    const row = await connection.first(sql, { scriptId });
    if (row?.last_write === write) return takenBefore(connection, scriptId, fromEpoch, lines.length);
    if (row?.epoch !== fromEpoch) return undefined;
    // defence: held-rows-need-force
    if (row.is_held === 1 && !force) return undefined;
    const content = await readScript(connection, scriptId);
    const { text, bytes } = storedLines(lines);
    const taken = (await connection.first(
      `UPDATE scripts SET epoch = epoch + 1, last_write = :write, owner = :owner, lease_ms = :leaseMs,
        lease_expires_at = NOW_MS + :leaseMs, appends = appends + 1, bytes = bytes + :bytes, updated_at = NOW_MS
        ${status === undefined ? '' : statusChange}
      WHERE script_id = :scriptId RETURNING epoch, appends`,
      {
        scriptId,
        write,
        owner: encode(owner),
        leaseMs,
        bytes,
        ...(status === undefined ? {} : statusParameters(status)),
      },
    ))!;
    if (bytes > 0) await connection.insert('script_lines', [[scriptId, taken.appends!, text]]);
    return { epoch: taken.epoch as number, ...content };
  });
}

/** The result of an earlier attempt, which has claimed the script and added `count` lines. */
async function takenBefore(
  connection: PostgresConnection,
  scriptId: string,
  fromEpoch: number,
  count: number,
): Promise<ClaimedJournal> {
  const content = await readScript(connection, scriptId);
  return { epoch: fromEpoch + 1, ...content, lines: content.lines.slice(0, content.lines.length - count) };
}

export async function readScript(connection: PostgresConnection, scriptId: string): Promise<JournalContent> {
  const rows = await connection.all('SELECT lines FROM script_lines WHERE script_id = :scriptId ORDER BY number', {
    scriptId,
  });
  const slot = (await connection.first('SELECT slot FROM scripts WHERE script_id = :scriptId', { scriptId }))?.slot;
  return {
    lines: rows.flatMap((row) => JSON.parse(row.lines as string) as string[]),
    slot: slot === null || slot === undefined ? undefined : (JSON.parse(slot as string) as string),
    damage: undefined,
  };
}

export async function readScriptPage(connection: PostgresConnection, query: ListQuery): Promise<ScriptPage> {
  const { sql, parameters } = listConditions(query);
  const { limit } = query;
  const rows = await connection.all(
    `SELECT script_id, state, status, updated_at, bytes, ${HELD} FROM scripts WHERE ${sql}
    ORDER BY updated_at, script_id ${limit === undefined ? '' : 'LIMIT :limit'}`,
    { ...parameters, ...(limit === undefined ? {} : { limit: limit + 1 }) },
  );
  const scripts = rows.slice(0, limit).map(rowScript);
  const last = scripts.at(-1);
  return { scripts, ...(last === undefined || scripts.length === rows.length ? {} : { next: scriptCursor(last) }) };
}

/** Adds a script in epoch 0, in which no process has claimed it. The transaction increments the epoch. */
async function addScript(connection: PostgresConnection, scriptId: string): Promise<void> {
  const status: ScriptStatus = { state: 'running' };
  await connection.run(
    `INSERT INTO scripts (script_id, epoch, owner, lease_ms, lease_expires_at, state, status, slot_bytes, bytes,
      appends, updated_at)
    VALUES (:scriptId, 0, '""', 0, 0, 'running', :status, 0, 0, 0, NOW_MS) ON CONFLICT DO NOTHING`,
    { scriptId, status: encode(status) },
  );
}

function listConditions({ state, principal, threadId, runId, after }: ListQuery): {
  sql: string;
  parameters: Parameters;
} {
  const sql = [state === undefined ? 'TRUE' : STATE_CONDITIONS[state]];
  const parameters: Record<string, string | number> = {};
  for (const [column, value] of Object.entries({ principal, thread_id: threadId, run_id: runId })) {
    if (value === undefined) continue;
    sql.push(`left(${column}, 200) = left(:${column}, 200) AND ${column} = :${column}`);
    parameters[column] = encode(value);
  }
  if (after !== undefined) {
    sql.push('(updated_at, script_id) > (:afterMs, :afterId)');
    Object.assign(parameters, cursorPosition(after));
  }
  return { sql: sql.join(' AND '), parameters };
}

function rowScript(row: Row): ListedScript {
  const { state, ...status } = JSON.parse(row.status as string) as ScriptStatus;
  const awake = row.is_held === 1 ? 'running' : 'interrupted';
  return {
    scriptId: row.script_id as string,
    ...status,
    state: state === 'running' ? awake : state,
    updatedAtMs: row.updated_at as number,
    bytes: row.bytes as number,
  };
}

function scriptCursor({ updatedAtMs, scriptId }: ListedScript): string {
  return `${updatedAtMs}.${scriptId}`;
}

function cursorPosition(cursor: string): { afterMs: number; afterId: string } {
  const [, afterMs, afterId] = /^(\d{1,15})\.([\w-]{1,128})$/u.exec(cursor) ?? [];
  if (afterId === undefined)
    throw new ToolscriptUsageError('CURSOR_INVALID', { cursor: JSON.stringify(cursor.slice(0, 100)) });
  return { afterMs: Number(afterMs), afterId };
}
