import { defineSchema, defineTable } from 'convex/server';
import { v } from 'convex/values';

/** A run of a thread, with the part of it that this table contains. */
const runs = defineTable({
  runId: v.string(),
  threadId: v.string(),
  turnId: v.string(),
  /** The `status` of a `Response`. */
  status: v.string(),
  /** The `seq` of the first event that the copy does not contain yet. */
  nextSeq: v.number(),
  /** Number of the run's items. */
  items: v.number(),
  /** ISO text of the run's first event. */
  startedAt: v.string(),
})
  .index('by_run', ['runId'])
  .index('by_thread', ['threadId', 'startedAt']);

/** A part of an item's JSON text: a document has at most 1 MiB. */
const items = defineTable({
  runId: v.string(),
  itemId: v.string(),
  /** The place of the item in its run. */
  position: v.number(),
  type: v.string(),
  part: v.number(),
  text: v.string(),
  /** The events before this `seq` produced the item. */
  nextSeq: v.number(),
})
  .index('by_run', ['runId', 'position', 'part'])
  .index('by_item', ['runId', 'itemId', 'part']);

export default defineSchema({ toolscriptRuns: runs, toolscriptItems: items });
