import type { CallMessage, MethodsOf, TableName } from './calls.js';
import type { Database } from './tables/database.js';
import type { ThreadFilters } from './tables/thread-tables.js';

type CallName =
  | {
      [Name in TableName]: `${Name}.${keyof MethodsOf<Name> & string}`;
    }[TableName]
  | 'database.version';

/** Calls that read little and write nothing. */
const SMALL_READS: ReadonlySet<string> = new Set<CallName>([
  'database.version',
  'documents.list',
  'documents.versions',
  'log.deadLetters',
  'log.lag',
  'log.list',
  'runs.get',
  'runs.list',
  'threads.approval',
  'threads.get',
  'threads.instructions',
  'threads.list',
  'threads.listApprovals',
  'threads.nextSeq',
]);

const OF_RUN = 'SELECT principal FROM runs WHERE run_id = :id';
const OF_THREAD = 'SELECT principal FROM threads WHERE thread_id = :id';

/** Calls that may read much: the statement that finds whose data it is, and the id for it. */
const LARGE_READS: Readonly<Partial<Record<CallName, { sql: string; id: (...parameters: never[]) => string }>>> = {
  'documents.read': {
    sql: OF_THREAD,
    id: ({ scope }: { scope: { id: string } }) => scope.id,
  },
  'log.read': { sql: OF_RUN, id: ({ runId }: { runId: string }) => runId },
  'threads.readEvents': { sql: OF_RUN, id: (runId: string) => runId },
  'threads.readItems': { sql: OF_THREAD, id: (threadId: string) => threadId },
  'threads.search': {
    sql: 'SELECT :id AS principal',
    id: (_text: string, { filters }: Pick<ThreadFilters, 'filters'>) => filters.principal ?? '',
  },
};

export function isSmallRead({ table, method }: CallMessage): boolean {
  return SMALL_READS.has(`${table}.${method}`);
}

export function isLargeRead({ table, method }: CallMessage): boolean {
  return Object.hasOwn(LARGE_READS, `${table}.${method}`);
}

/** The principal whose data a large read is about. Undefined if the database does not know. */
export async function dataOwner(
  database: Database,
  { table, method, parameters }: CallMessage,
): Promise<string | undefined> {
  const { sql, id } = LARGE_READS[`${table}.${method}` as CallName]!;
  return (await database.first(sql, { id: id(...(parameters as never[])) }))?.principal as string | undefined;
}
