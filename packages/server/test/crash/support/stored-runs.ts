import type { Run, StreamEvent } from '@toolscript/core/protocol';
import { openStores } from '@toolscript/service/stores';
import { allEvents } from '@toolscript/service';

/** Runs and their events, as the database at `url` has them. */
export async function storedRuns(
  url: string,
  runIds: readonly string[],
): Promise<{ readonly run: Run; readonly events: readonly StreamEvent[] }[]> {
  const stores = await openStores(url);
  try {
    const found = [];
    for (const runId of runIds)
      found.push({ run: (await stores.runs.get(runId))!, events: await allEvents(stores, runId) });
    return found;
  } finally {
    await stores.close();
  }
}
