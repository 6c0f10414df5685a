import { ProgramFold } from '@toolscript/core/history';
import type { TurnItems } from '@toolscript/core/ports';
import type { ServiceStores, Thread } from '@toolscript/core/protocol';
import type { LongReads } from '@toolscript/service';
import { itemSummary, threadView } from './views.js';

/** The parts of the JSON text of a whole thread. */
export async function* threadText(
  threads: Pick<ServiceStores['threads'], 'readItems'>,
  thread: Thread,
  {
    operations,
    longReads,
    scripts,
  }: {
    readonly operations: 'summary' | 'full';
    readonly longReads: LongReads;
    /** Whether the scripts of the thread's agent share their variables. */
    readonly scripts: 'separate' | 'one-program';
  },
): AsyncGenerator<string, void, undefined> {
  const runs: object[] = [];
  const program = new ProgramFold();
  yield `${JSON.stringify(threadView(thread)).slice(0, -1)},"items":[`;
  let separator = '';
  for await (const { runId, turnId, state, cancelRequestedAt, items } of threadTurns(threads, thread, longReads)) {
    runs.push({ runId, turnId, status: state, cancelRequestedAt, itemCount: items.length });
    for (const item of items) {
      program.add(item);
      yield separator + JSON.stringify(operations === 'full' ? item : itemSummary(item));
      separator = ',';
    }
  }
  const { heap, scope } = program.result;
  const shared = heap === undefined && scripts === 'separate' ? { scripts } : { scripts: 'one-program', scope };
  yield `],"runs":${JSON.stringify(runs)},${JSON.stringify(shared).slice(1)}`;
}

async function* threadTurns(
  threads: Pick<ServiceStores['threads'], 'readItems'>,
  { threadId, principal }: Thread,
  longReads: LongReads,
): AsyncGenerator<TurnItems, void, undefined> {
  for (let after: string | undefined; ;) {
    const page = await longReads.read(principal, () => threads.readItems(threadId, { after }));
    yield* page.turns;
    if (page.next === undefined) return;
    after = page.next;
  }
}
