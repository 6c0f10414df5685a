import type { ClaimOptionsSchema } from '@toolscript/core/ports';
import type { Database, Dialect, Parameters, Row } from './database.js';
import { encode, REASON_AFTER } from './rows.js';
import { fairShares } from '../store-rules.js';

type ParsedClaim = ReturnType<typeof ClaimOptionsSchema.parse>;

interface Lease {
  readonly owner: string;
  readonly leaseMs: number;
}

/** Number of the oldest free runs that a claim examines before it examines all free runs. */
const FRONT = 100;

/**
 * Maximum number of principals that a claim considers. If other claims take the oldest runs of these principals, the
 * claim tries all runs of the first `MAX_TRIES` principals.
 */
const MAX_PRINCIPALS = 100;
const MAX_TRIES = 3;

/** The condition `isLeaseHeld` of the protocol. */
const IS_HELD = 'lease_expires_at > :now AND lease_expires_at <= :now + 2 * lease_ms';

/** The condition of the partial indexes. The migrations must contain exactly this text. */
const IS_ACTIVE = `state IN ('queued', 'running')`;

const IS_FREE = `${IS_ACTIVE} AND (state = 'queued' OR NOT (${IS_HELD}))`;

const NOTHING_ELSE_RUNS = `NOT EXISTS (
    SELECT 1 FROM runs AS other
    WHERE other.thread_id = candidate.thread_id AND other.state = 'running' AND other.run_id <> candidate.run_id
  )`;

/** The number of runs that each principal holds. */
const HELD = `held AS (
    SELECT principal, count(*) AS number FROM runs WHERE state = 'running' AND ${IS_HELD} GROUP BY principal)`;

/** The step of a fair claim, as a number: principals with fewer held runs come first. */
const STEP = `CASE ${fairShares()
  .flatMap((share, step) => (share === undefined ? [] : [`WHEN coalesce(held.number, 0) < ${share} THEN ${step}`]))
  .join(' ')} ELSE ${fairShares().length} END`;

const HAS_ROOM = '(:max IS NULL OR coalesce(held.number, 0) < :max)';

const claimSql = (candidate: string, lock: string, order = 'position') => `
  UPDATE runs SET
    deaths = deaths + CASE state WHEN 'running' THEN :died ELSE 0 END,
    left_by = CASE state WHEN 'running' THEN coalesce(left_by, owner) ELSE left_by END,
    reason = CASE state WHEN 'running' THEN 'interrupted' WHEN 'suspended' THEN ${REASON_AFTER} ELSE reason END, parked = NULL,
    state = 'running', epoch = epoch + 1, owner = :owner, lease_ms = :leaseMs,
    lease_expires_at = :now + :leaseMs, updated_at = :now
  WHERE run_id = (SELECT run_id FROM runs AS candidate ${candidate} AND ${NOTHING_ELSE_RUNS} ORDER BY ${order} LIMIT 1 ${lock})
  RETURNING *`;

function statementsIn({ forUpdate, skipLocked, indexedBy, isOneOf, indexedText }: Dialect) {
  const isServed = `(:workspaces IS NULL OR ${isOneOf('workspace', ':workspaces')})`;
  const isClaimable = `${IS_FREE} AND ${isServed} AND ${NOTHING_ELSE_RUNS}`;
  const ofPrincipals = indexedBy('claimable_runs_of_principal');
  const one = 'run_id = :runId';
  return {
    /** The principals of the oldest free runs, in the order of their turns. `total`: the number of examined runs. */
    front: `WITH ${HELD}, front AS (
        SELECT principal, run_id, position FROM runs AS candidate ${indexedBy('claimable_runs')}
        WHERE ${isClaimable} ORDER BY position LIMIT ${FRONT}
      ), heads AS (SELECT principal, min(position) AS first FROM front GROUP BY principal)
      SELECT front.principal, front.run_id, ${STEP} AS step, first, (SELECT count(*) FROM front) AS total
      FROM heads JOIN front ON front.position = heads.first LEFT JOIN held ON held.principal = front.principal
      WHERE ${HAS_ROOM} ORDER BY step, first`,
    /** The principals of all free runs: one index lookup for each principal, regardless of the number of its runs. */
    all: `WITH RECURSIVE ${HELD}, active(name) AS (
        SELECT min(${indexedText('principal')}) FROM runs ${ofPrincipals} WHERE ${IS_ACTIVE}
        UNION ALL
        SELECT (SELECT min(${indexedText('principal')}) FROM runs ${ofPrincipals}
          WHERE ${IS_ACTIVE} AND ${indexedText('principal')} > active.name)
        FROM active WHERE active.name IS NOT NULL
      ), heads AS MATERIALIZED (
        SELECT (SELECT run_id FROM runs AS candidate ${ofPrincipals}
          WHERE ${indexedText('principal')} = active.name AND ${isClaimable} ORDER BY position LIMIT 1) AS run_id
        FROM active
      ), named AS MATERIALIZED (
        SELECT run_id, (SELECT principal FROM runs WHERE run_id = heads.run_id) AS principal,
          (SELECT position FROM runs WHERE run_id = heads.run_id) AS first
        FROM heads WHERE run_id IS NOT NULL)
      SELECT named.principal, named.run_id, ${STEP} AS step, first
      FROM named LEFT JOIN held ON held.principal = named.principal
      WHERE ${HAS_ROOM} ORDER BY step, first LIMIT ${MAX_PRINCIPALS}`,
    /** The oldest of the given runs that no other claim has locked. */
    oneOf: claimSql(
      `WHERE ${isOneOf('candidate.run_id', ':runIds')} AND ${IS_FREE} AND ${isServed}`,
      skipLocked,
      // This expression matches no index. Otherwise a planner would follow the order of an index through the whole
      // queue.
      'position + 0',
    ),
    any: claimSql(`${indexedBy('claimable_runs')} WHERE ${IS_FREE} AND ${isServed}`, skipLocked),
    ofPrincipal: claimSql(
      `${ofPrincipals} WHERE ${indexedText('principal')} = ${indexedText(':principal')} AND ${IS_FREE} AND ${isServed}`,
      skipLocked,
    ),
    one: claimSql(`WHERE ${one} AND ${IS_FREE} AND ${isServed}`, forUpdate),
    suspended: claimSql(`WHERE ${one} AND state = 'suspended' AND ${isServed}`, forUpdate),
  };
}

/** Claims of runs, inside transactions of other tables. */
export class RunClaims {
  readonly #statements: ReturnType<typeof statementsIn>;

  constructor(readonly database: Database) {
    this.#statements = statementsIn(database.dialect);
  }

  async claim(
    { owner, leaseMs, runId, workspaces, maxPerPrincipal, evenSuspended, isAfterFault }: Lease & Partial<ParsedClaim>,
    now: number,
  ): Promise<Row | undefined> {
    const served = { workspaces: workspaces === undefined ? null : encode(workspaces.map(encode)), now };
    const parameters = { ...served, owner: encode(owner), leaseMs, died: isAfterFault === true ? 0 : 1 };
    if (runId === undefined) return this.#claimFairly(parameters, served, maxPerPrincipal);
    const { one, suspended } = this.#statements;
    const found = await this.database.first(one, { ...parameters, runId });
    if (found !== undefined || evenSuspended !== true) return found;
    return this.database.first(suspended, { ...parameters, runId });
  }

  async #claimFairly(parameters: Parameters, served: Parameters, max: number | undefined): Promise<Row | undefined> {
    if (max !== undefined) {
      if ((await this.#principals({ ...served, max })).length === 0) return undefined;
      // The lock prevents two concurrent claims from both finding room below the maximum.
      await this.database.lock('shares of principals');
    }
    const turns = await this.#principals({ ...served, max: max ?? null });
    for (const step of new Set(turns.map((turn) => turn.step))) {
      const runIds = encode(turns.filter((turn) => turn.step === step).map((turn) => turn.run_id));
      const found = await this.database.first(this.#statements.oneOf, { ...parameters, runIds });
      if (found !== undefined) return found;
    }
    return turns.length === 0 ? undefined : this.#claimBehind(turns, parameters, max);
  }

  /** Claims another run, because other claims are taking the oldest run of each principal. */
  async #claimBehind(turns: readonly Row[], parameters: Parameters, max: number | undefined): Promise<Row | undefined> {
    for (const { principal } of turns.slice(0, MAX_TRIES)) {
      const found = await this.database.first(this.#statements.ofPrincipal, { ...parameters, principal: principal! });
      if (found !== undefined) return found;
    }
    return max === undefined ? this.database.first(this.#statements.any, parameters) : undefined;
  }

  /**
   * Principals with free runs, in the order of their turns. Usually one of the oldest runs belongs to a principal
   * without held runs, so no other principal comes first.
   */
  async #principals(parameters: Parameters): Promise<Row[]> {
    const front = await this.database.all(this.#statements.front, parameters);
    const isComplete = front.length > 0 && (front[0]!.step === 0 || (front[0]!.total as number) < FRONT);
    return isComplete ? front : this.database.all(this.#statements.all, parameters);
  }
}
