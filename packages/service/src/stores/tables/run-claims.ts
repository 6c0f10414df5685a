import type { ClaimOptionsSchema } from '@toolscript/core/ports';
import type { Database, Dialect, Parameters, Row } from './database.js';
import { encode, encodeNeeds, REASON_AFTER } from './rows.js';
import { fairShares } from '../store-rules.js';

type ParsedClaim = ReturnType<typeof ClaimOptionsSchema.parse>;
type Claim = Pick<ParsedClaim, 'owner' | 'leaseMs'> & Partial<ParsedClaim>;

/** Number of free runs that a claim examines before it examines those of all principals. */
const FRONT = 100;

/**
 * Maximum number of principals that a claim considers. If other claims take the oldest runs of these principals, the
 * claim tries all runs of the first `MAX_TRIES` principals.
 */
const MAX_PRINCIPALS = 100;
const MAX_TRIES = 3;

/** SQLite's name for the index of the primary key. Its planner would prefer the index of states, which has all runs. */
const PRIMARY_KEY = 'sqlite_autoindex_runs_1';

/** The condition `isLeaseHeld` of the protocol. */
export const IS_HELD = 'lease_expires_at > :now AND lease_expires_at <= :now + 2 * lease_ms';

/** The condition of the partial indexes. The migrations must contain exactly this text. */
const IS_ACTIVE = `state IN ('queued', 'running')`;

export const IS_FREE = `${IS_ACTIVE} AND (state = 'queued' OR NOT (${IS_HELD}))`;

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

const claimSql = (needs: string, candidate: string, lock: string, order = 'position') => `
  UPDATE runs SET needs = ${needs},
    deaths = deaths + CASE state WHEN 'running' THEN :died ELSE 0 END,
    left_by = CASE state WHEN 'running' THEN coalesce(left_by, owner) ELSE left_by END,
    reason = CASE state WHEN 'running' THEN 'interrupted' WHEN 'suspended' THEN ${REASON_AFTER} ELSE reason END, parked = NULL,
    state = 'running', epoch = epoch + 1, owner = :owner, lease_ms = :leaseMs,
    lease_expires_at = :now + :leaseMs, updated_at = :now
  WHERE run_id = (SELECT run_id FROM runs AS candidate ${candidate} AND ${NOTHING_ELSE_RUNS} ORDER BY ${order} LIMIT 1 ${lock})
  RETURNING *`;

/** Whether an announced worker serves the workspace of the run. */
export function isServedByWorker({ isOneOf }: Dialect, run: string, more = ''): string {
  return `EXISTS (SELECT 1 FROM workers WHERE ${IS_HELD}
    AND (workers.workspaces IS NULL OR ${isOneOf(`${run}.workspace`, 'workers.workspaces')}) ${more})`;
}

/** Whether an announced worker may claim the run. */
export function isOpenedByWorker(dialect: Dialect, run: string): string {
  return isServedByWorker(dialect, run, `AND ${dialect.isSubset(`${run}.needs`, 'workers.opens')}`);
}

function isOfWorkspaces({ isOneOf }: Dialect): string {
  return `(:workspaces IS NULL OR ${isOneOf('workspace', ':workspaces')})`;
}

/**
 * The class of a run as an expression of the indexes: what it needs, and its workspace. So a claim decides once for all
 * runs of a class whether its worker opens them, and never reads the runs of the other classes. The migrations must
 * contain exactly this text.
 */
function runClass({ indexedText }: Dialect, run: string): string {
  return indexedText(`${run}needs || ${run}workspace`);
}

/**
 * The classes with runs that the worker may claim, each found by one index lookup. `is_opened` is 0 if only the
 * cancelled runs of the class may be claimed, because no worker opens them.
 */
function servedClasses(dialect: Dialect): string {
  const runs = `runs ${dialect.indexedBy('claimable_runs_of_class')}`;
  const name = runClass(dialect, '');
  const member = (column: string) =>
    `(SELECT ${column} FROM ${runs} WHERE ${IS_ACTIVE} AND ${name} = classes.name ORDER BY position LIMIT 1)`;
  const isOpened = `(:opens IS NULL OR ${dialect.isSubset('known.needs', ':opens')})`;
  return `classes(name) AS (
      SELECT min(${name}) FROM ${runs} WHERE ${IS_ACTIVE}
      UNION ALL
      SELECT (SELECT min(${name}) FROM ${runs} WHERE ${IS_ACTIVE} AND ${name} > classes.name)
      FROM classes WHERE classes.name IS NOT NULL
    ), known AS MATERIALIZED (
      SELECT name, ${member('needs')} AS needs, ${member('workspace')} AS workspace FROM classes WHERE name IS NOT NULL
    ), served AS MATERIALIZED (
      SELECT name, CASE WHEN ${isOpened} THEN 1 ELSE 0 END AS is_opened FROM known
      WHERE ${isOfWorkspaces(dialect)} AND (${isOpened} OR NOT ${isOpenedByWorker(dialect, 'known')}))`;
}

/** The statements that claim a run. */
function claimStatements(dialect: Dialect) {
  const { forUpdate, skipLocked, indexedBy, isOneOf, indexedText } = dialect;
  // defence: claims-by-capability
  const isOpened = `(:opens IS NULL OR ${dialect.isSubset('needs', ':opens')}
    OR (cancel_requested_at IS NOT NULL AND NOT ${isOpenedByWorker(dialect, 'candidate')}))`;
  const isServed = `${isOfWorkspaces(dialect)} AND ${isOpened}`;
  const claiming = claimSql.bind(undefined, dialect.union('needs', ':needs'));
  const one = 'run_id = :runId';
  const ofClass = runClass(dialect, 'candidate.');
  const ofRun = (text: string) => `(SELECT ${text} FROM runs WHERE ${one})`;
  return {
    /** The oldest of the given runs that no other claim has locked. */
    oneOf: claiming(
      `${indexedBy(PRIMARY_KEY)} WHERE ${isOneOf('candidate.run_id', ':runIds')} AND ${IS_FREE} AND ${isServed}`,
      skipLocked,
      // This expression matches no index. Otherwise a planner would follow the order of an index through the whole
      // queue.
      'position + 0',
    ),
    ofClass: claiming(
      `${indexedBy('claimable_runs_of_class')} WHERE ${ofClass} = :class AND ${IS_FREE} AND ${isServed}`,
      skipLocked,
    ),
    /** A run of the same class and principal as the given one. */
    like: claiming(
      `${indexedBy('claimable_runs_of_principal')} WHERE ${ofClass} = ${ofRun(runClass(dialect, ''))}
        AND ${indexedText('candidate.principal')} = ${ofRun(indexedText('principal'))} AND ${IS_FREE} AND ${isServed}`,
      skipLocked,
    ),
    one: claiming(`WHERE ${one} AND ${IS_FREE} AND ${isServed}`, forUpdate),
    suspended: claiming(`WHERE ${one} AND state = 'suspended' AND ${isServed}`, forUpdate),
  };
}

/** The statements that find the classes and the principals with runs that the worker may claim. */
function turnStatements(dialect: Dialect) {
  const { indexedBy, indexedText } = dialect;
  const served = servedClasses(dialect);
  const name = runClass(dialect, '');
  const ofCandidate = runClass(dialect, 'candidate.');
  const principal = indexedText('principal');
  const principals = `(SELECT min(${principal}) FROM runs ${indexedBy('claimable_runs_of_principal')} WHERE ${IS_ACTIVE}`;
  const oldest = (index: string, where: string) => `(SELECT position FROM runs AS candidate ${indexedBy(index)}
    WHERE ${where} AND ${IS_FREE} AND ${NOTHING_ELSE_RUNS} ORDER BY position LIMIT 1)`;
  const oldestOfClass = (where: string) => oldest('claimable_runs_of_class', `${ofCandidate} = ${where}`);
  const oldestOfPrincipal = oldest(
    'claimable_runs_of_principal',
    `${ofCandidate} = active.name AND ${indexedText('candidate.principal')} = active.principal`,
  );
  const cancelled = `SELECT ${oldest('cancelled_runs', `${ofCandidate} = served.name AND cancel_requested_at IS NOT NULL`)}
    FROM served WHERE is_opened = 0`;
  const quota = `(SELECT ${FRONT} / count(*) FROM served)`;
  return {
    classes: `WITH RECURSIVE ${served} SELECT name FROM served WHERE is_opened = 1`,
    /**
     * The principals of the oldest free runs of each class, in the order of their turns. A run after `horizon` may
     * have others before it.
     */
    front: `WITH RECURSIVE ${HELD}, ${served}, walk(name, position, number) AS (
        SELECT name, ${oldestOfClass('served.name')}, 1 FROM served WHERE is_opened = 1
        UNION ALL
        SELECT name, ${oldestOfClass('walk.name AND position > walk.position')}, number + 1
        FROM walk WHERE position IS NOT NULL AND number < ${quota}
      ), ${turns(
        `SELECT position FROM walk UNION ALL ${cancelled}`,
        `(SELECT min(position) FROM walk WHERE number >= ${quota})`,
      )}`,
    /** The principals of all free runs: one index lookup for each principal, regardless of the number of its runs. */
    all: `WITH RECURSIVE ${HELD}, ${served}, active(name, principal) AS (
        SELECT name, ${principals} AND ${name} = served.name) FROM served WHERE is_opened = 1
        UNION ALL
        SELECT active.name, ${principals} AND ${name} = active.name AND ${principal} > active.principal)
        FROM active WHERE active.principal IS NOT NULL
      ), ${turns(
        `SELECT ${oldestOfPrincipal} FROM active WHERE active.principal IS NOT NULL UNION ALL ${cancelled}`,
        'NULL',
      )} LIMIT ${MAX_PRINCIPALS}`,
  };
}

/** The oldest of the runs at `places` of each principal, in the order of their turns. */
function turns(places: string, horizon: string): string {
  const ofRun = (column: string, position: string) => `(SELECT ${column} FROM runs WHERE position = ${position})`;
  return `places(position) AS MATERIALIZED (${places}
    ), named AS MATERIALIZED (
      SELECT ${ofRun('principal', 'places.position')} AS principal, position FROM places WHERE position IS NOT NULL
    ), heads AS (SELECT principal, min(position) AS first FROM named GROUP BY principal)
    SELECT heads.principal, ${ofRun('run_id', 'heads.first')} AS run_id, ${STEP} AS step, first, ${horizon} AS horizon
    FROM heads LEFT JOIN held ON held.principal = heads.principal
    WHERE ${HAS_ROOM} ORDER BY step, first`;
}

/** Claims of runs, inside transactions of other tables. */
export class RunClaims {
  readonly #statements: ReturnType<typeof claimStatements> & ReturnType<typeof turnStatements>;

  constructor(readonly database: Database) {
    this.#statements = { ...claimStatements(database.dialect), ...turnStatements(database.dialect) };
  }

  async claim(
    { owner, leaseMs, runId, workspaces, opens, needs, maxPerPrincipal, evenSuspended, isAfterFault }: Claim,
    now: number,
  ): Promise<Row | undefined> {
    const served = {
      workspaces: workspaces === undefined ? null : encode(workspaces.map(encode)),
      opens: opens === undefined ? null : encode(opens),
      now,
    };
    const died = isAfterFault === true ? 0 : 1;
    const parameters = { ...served, owner: encode(owner), leaseMs, died, needs: encodeNeeds(needs) };
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
    return turns.length === 0 ? undefined : this.#claimBehind(turns, parameters, served, max);
  }

  /** Claims another run, because other claims are taking the oldest run of each principal. */
  async #claimBehind(
    turns: readonly Row[],
    parameters: Parameters,
    served: Parameters,
    max: number | undefined,
  ): Promise<Row | undefined> {
    for (const { run_id } of turns.slice(0, MAX_TRIES)) {
      const found = await this.database.first(this.#statements.like, { ...parameters, runId: run_id! });
      if (found !== undefined) return found;
    }
    if (max !== undefined) return undefined;
    for (const { name } of await this.database.all(this.#statements.classes, served)) {
      const found = await this.database.first(this.#statements.ofClass, { ...parameters, class: name! });
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /**
   * Principals with free runs, in the order of their turns. Usually one of the oldest runs belongs to a principal
   * without held runs, so no other principal comes first.
   */
  async #principals(parameters: Parameters): Promise<Row[]> {
    const front = await this.database.all(this.#statements.front, parameters);
    const [head] = front;
    const isComplete =
      head !== undefined &&
      (head.horizon === null || (head.step === 0 && (head.first as number) <= (head.horizon as number)));
    return isComplete ? front : this.database.all(this.#statements.all, parameters);
  }
}
