/*
 * The functions that Toolscript's persistence worker calls, and a query for each list. Every function requires the
 * secret in the deployment's environment, TOOLSCRIPT_SECRET. For your users, write queries over the same tables that
 * check the identity of the caller.
 */
import {
  mutationGeneric,
  queryGeneric,
  type DataModelFromSchemaDefinition,
  type GenericMutationCtx,
  type MutationBuilder,
  type QueryBuilder,
} from 'convex/server';
import { ConvexError, v } from 'convex/values';
import type schema from './schema.js';

type DataModel = DataModelFromSchemaDefinition<typeof schema>;
type Database = GenericMutationCtx<DataModel>['db'];

const mutation = mutationGeneric as MutationBuilder<DataModel, 'public'>;
const query = queryGeneric as QueryBuilder<DataModel, 'public'>;

/** Rows that one call of `removeRun` deletes. */
const MAX_DELETED = 200;

function checkSecret(given: string): void {
  const secret = process.env['TOOLSCRIPT_SECRET'];
  if (secret === undefined || secret.length < 32) throw new ConvexError({ code: 'no-secret' });
  if (!isSame(given, secret)) throw new ConvexError({ code: 'wrong-secret' });
}

/** Compares in a time that does not depend on the position of the first difference. */
function isSame(one: string, other: string): boolean {
  let difference = one.length ^ other.length;
  for (let index = 0; index < other.length; index += 1) difference |= one.charCodeAt(index) ^ other.charCodeAt(index);
  return difference === 0;
}

/** The `seq` of the run's first event that the copy does not contain; 0 for an unknown run. */
export const position = query({
  args: { secret: v.string(), runId: v.string() },
  handler: async ({ db }, { secret, runId }) => {
    checkSecret(secret);
    return (await findRun(db, runId))?.nextSeq ?? 0;
  },
});

/** Writes items, with all their parts. Keeps a stored item that later events produced. */
export const putItems = mutation({
  args: {
    secret: v.string(),
    runId: v.string(),
    nextSeq: v.number(),
    items: v.array(
      v.object({ itemId: v.string(), position: v.number(), type: v.string(), parts: v.array(v.string()) }),
    ),
  },
  handler: async ({ db }, { secret, runId, nextSeq, items }) => {
    checkSecret(secret);
    for (const { itemId, position, type, parts } of items) {
      const rows = await db
        .query('toolscriptItems')
        .withIndex('by_item', (index) => index.eq('runId', runId).eq('itemId', itemId))
        .collect();
      if (rows.some((row) => row.nextSeq > nextSeq)) continue;
      for (const row of rows.slice(parts.length)) await db.delete(row._id);
      for (const [part, text] of parts.entries()) {
        const row = { runId, itemId, position, type, part, text, nextSeq };
        const old = rows[part];
        if (old === undefined) await db.insert('toolscriptItems', row);
        else await db.replace(old._id, row);
      }
    }
    return null;
  },
});

/** Writes the run, after its items: a reader that sees its `nextSeq` finds the items. Keeps a stored later state. */
export const putRun = mutation({
  args: {
    secret: v.string(),
    run: v.object({
      runId: v.string(),
      threadId: v.string(),
      turnId: v.string(),
      status: v.string(),
      nextSeq: v.number(),
      items: v.number(),
      startedAt: v.string(),
    }),
  },
  handler: async ({ db }, { secret, run }) => {
    checkSecret(secret);
    const old = await findRun(db, run.runId);
    if (old === null) await db.insert('toolscriptRuns', run);
    else if (old.nextSeq <= run.nextSeq) await db.replace(old._id, run);
    return null;
  },
});

/** Deletes the run and its items. Returns true if items may be left: call it again in that case. */
export const removeRun = mutation({
  args: { secret: v.string(), runId: v.string() },
  handler: async ({ db }, { secret, runId }) => {
    checkSecret(secret);
    const run = await findRun(db, runId);
    if (run !== null) await db.delete(run._id);
    const rows = await db
      .query('toolscriptItems')
      .withIndex('by_run', (index) => index.eq('runId', runId))
      .take(MAX_DELETED);
    for (const { _id } of rows) await db.delete(_id);
    return rows.length === MAX_DELETED;
  },
});

/** The runs of a thread, oldest first. */
export const listRuns = query({
  args: { secret: v.string(), threadId: v.string() },
  handler: async ({ db }, { secret, threadId }) => {
    checkSecret(secret);
    const runs = await db
      .query('toolscriptRuns')
      .withIndex('by_thread', (index) => index.eq('threadId', threadId))
      .collect();
    return runs.map(({ _id, _creationTime, ...run }) => run);
  },
});

/** The items of a run as JSON texts, starting at the position `from`. */
export const readItems = query({
  args: { secret: v.string(), runId: v.string(), from: v.number(), limit: v.number() },
  handler: async ({ db }, { secret, runId, from, limit }) => {
    checkSecret(secret);
    const rows = await db
      .query('toolscriptItems')
      .withIndex('by_run', (index) =>
        index
          .eq('runId', runId)
          .gte('position', from)
          .lt('position', from + limit),
      )
      .collect();
    const texts = new Map<number, string>();
    for (const { position, text } of rows) texts.set(position, (texts.get(position) ?? '') + text);
    return [...texts.values()];
  },
});

function findRun(db: Pick<Database, 'query'>, runId: string) {
  return db
    .query('toolscriptRuns')
    .withIndex('by_run', (index) => index.eq('runId', runId))
    .unique();
}
