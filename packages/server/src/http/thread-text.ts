import type { TurnItems } from '@toolscript/core/ports';
import type { ServiceStores, Thread } from '@toolscript/core/protocol';
import type { LongAnswers } from './long-answers.js';
import { itemSummary, threadView } from './views.js';

/** The parts of the JSON text of a whole thread. */
export async function* threadText(
  threads: Pick<ServiceStores['threads'], 'readItems'>,
  thread: Thread,
  { operations, longAnswers }: { readonly operations: 'summary' | 'full'; readonly longAnswers: LongAnswers },
): AsyncGenerator<string, void, undefined> {
  const runs: object[] = [];
  yield `${JSON.stringify(threadView(thread)).slice(0, -1)},"items":[`;
  let separator = '';
  for await (const { runId, turnId, state, items } of turnsOf(threads, thread, longAnswers)) {
    runs.push({ runId, turnId, status: state });
    for (const item of items) {
      yield separator + JSON.stringify(operations === 'full' ? item : itemSummary(item));
      separator = ',';
    }
  }
  yield `],"runs":${JSON.stringify(runs)}}`;
}

async function* turnsOf(
  threads: Pick<ServiceStores['threads'], 'readItems'>,
  { threadId, principal }: Thread,
  longAnswers: LongAnswers,
): AsyncGenerator<TurnItems, void, undefined> {
  for (let after: string | undefined; ;) {
    const page = await longAnswers.read(principal, () => threads.readItems(threadId, { after }));
    yield* page.turns;
    if (page.next === undefined) return;
    after = page.next;
  }
}
