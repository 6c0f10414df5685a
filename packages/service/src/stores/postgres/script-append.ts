import { randomUUID } from 'node:crypto';
import { checkJournalLines } from '@toolscript/core/internal';
import { JournalFullError, StaleEpochError, type AppendOptions, type ScriptStatus } from '@toolscript/core/ports';
import type { Parameters } from '../tables/database.js';
import { encode, encodeOptional } from '../tables/rows.js';
import { storeErrors } from '../store-errors.js';
import type { PostgresConnection } from './connection.js';

export const DEFAULT_MAX_BYTES = 64 * 1_048_576;

/**
 * One statement updates the script's row, if the caller holds the epoch and the journal has room, and adds the lines.
 * So an append is one round trip and one transaction. `write` identifies the append, so that a repetition adds nothing.
 */
const append = (changes: string, isFenced: boolean) => `WITH ${isFenced ? CLAIM : ''} held AS (
    UPDATE scripts SET appends = appends + 1, last_write = :write, updated_at = NOW_MS, bytes = bytes + :addedBytes ${changes}
    WHERE script_id = :scriptId AND epoch = :epoch AND last_write IS DISTINCT FROM :write AND bytes + :addedBytes + :slotBytes
      + CASE WHEN :keepsSlot = 1 THEN slot_bytes ELSE 0 END <= :maxBytes
      ${isFenced ? 'AND NOT EXISTS (SELECT 1 FROM claim WHERE epoch > :runEpoch)' : ''}
    RETURNING script_id, appends
  ), added AS (
    INSERT INTO script_lines SELECT script_id, appends, :lines FROM held WHERE :addedBytes > 0
  )
  SELECT appends FROM held`;

/**
 * The claim of the run stays as it is until the append is committed. So the next worker, which claims the run and then
 * looks for its scripts, finds the script, or the append is refused.
 */
// defence: lost-runs-begin-no-scripts
const CLAIM = 'claim AS MATERIALIZED (SELECT epoch FROM runs WHERE run_id = :fencedRun FOR SHARE),';

/** Returns the function that appends the lines. Throws a `ToolscriptUsageError` for lines that cannot be stored. */
export function appendTo(
  scriptId: string,
  epoch: number,
  lines: readonly string[],
  { slot, status, fence }: AppendOptions,
  maxBytes: number,
): (connection: PostgresConnection) => Promise<void> {
  checkJournalLines(lines);
  if (!Number.isSafeInteger(epoch)) throw stale(scriptId, epoch);
  const isEmpty = lines.length === 0 && slot === undefined && status === undefined;
  const { text, bytes } = storedLines(lines);
  const slotChange = slot === undefined ? '' : ', slot = :slot, slot_bytes = :slotBytes';
  const sql = append(`${slotChange} ${status === undefined ? '' : statusChange}`, fence !== undefined);
  const write = randomUUID();
  const parameters = {
    scriptId,
    epoch,
    write,
    maxBytes,
    lines: text,
    addedBytes: bytes,
    slot: slot === undefined || slot === null ? null : encode(slot),
    slotBytes: Buffer.byteLength(slot ?? ''),
    keepsSlot: slot === undefined ? 1 : 0,
    ...(status === undefined ? {} : statusParameters(status)),
    ...(fence === undefined ? {} : { fencedRun: fence.runId, runEpoch: fence.epoch }),
  };
  return async (connection) => {
    const isWritten = !isEmpty && (await connection.commit(sql, parameters)) > 0;
    if (!isWritten) await explain(connection, { scriptId, epoch, write, isEmpty, fence });
  };
}

/** The lines in the form that the column stores. */
export function storedLines(lines: readonly string[]): { text: string; bytes: number } {
  const text = encode(lines);
  return { text, bytes: lines.length === 0 ? 0 : Buffer.byteLength(text) };
}

export const statusChange =
  ', state = :state, thread_id = :threadId, run_id = :runId, principal = :principal, status = :status';

export function statusParameters(status: ScriptStatus): Parameters {
  const { state, threadId, runId, principal } = status;
  return {
    state,
    threadId: encodeOptional(threadId),
    runId: encodeOptional(runId),
    principal: encodeOptional(principal),
    status: encode(status),
  };
}

interface Attempt {
  readonly scriptId: string;
  readonly epoch: number;
  readonly write: string;
  readonly isEmpty: boolean;
  readonly fence: AppendOptions['fence'];
}

/**
 * Throws the reason why nothing was written. Returns if an earlier attempt has written the lines, or if there was
 * nothing to write.
 */
async function explain(connection: PostgresConnection, about: Attempt): Promise<void> {
  const { scriptId, epoch, write, isEmpty, fence } = about;
  const row = await connection.first('SELECT epoch, last_write FROM scripts WHERE script_id = :scriptId', { scriptId });
  if (row?.epoch !== epoch) throw stale(scriptId, epoch);
  if (isEmpty || row.last_write === write) return;
  const claim =
    fence && (await connection.first('SELECT epoch FROM runs WHERE run_id = :runId', { runId: fence.runId }));
  if (claim !== undefined && (claim.epoch as number) > fence!.epoch)
    throw storeErrors.runNotHeld(fence!.runId, fence!.epoch);
  throw new JournalFullError(
    `The journal of ${scriptId} has reached its maximum size. Raise maxScriptBytes of the store`,
  );
}

function stale(scriptId: string, epoch: number): StaleEpochError {
  return new StaleEpochError(
    `Epoch ${epoch} of ${scriptId} is stale: another process claimed or deleted the script. Claim it again before you write`,
  );
}
