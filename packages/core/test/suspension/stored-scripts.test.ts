import { describe, expect, it } from 'vitest';
import { listScripts, memoryStore, pruneScripts } from '#core/index.js';
import { foldResponse } from '#core/history/index.js';
import type { HarnessStore, StreamEvent } from '#core/protocol/index.js';
import { decideAll, failureOf, HOLDER, keepCopy, open, suspended, valueOf, type Effects } from './world.js';

const PAGE = 100;
const DAY_MS = 86_400_000;

async function endedScript(store: HarnessStore, scriptId: string): Promise<void> {
  const taken = (await store.claim.take(scriptId, 0, HOLDER))!;
  const ended = { status: 'completed' } as const;
  await store.journal.append(scriptId, taken.epoch, ['{}'], { status: { state: 'ended', threadId: 'thr_1', ended } });
  await store.claim.release(scriptId, taken.epoch);
}

describe('pruning', () => {
  it('deletes every ended script that is old enough, however many there are, and no other', async () => {
    const store = memoryStore();
    const waiting = suspended(await open({ store }).runScript('await tools.note({ text: "a" })'));
    const ids = Array.from({ length: 2 * PAGE + 50 }, (_, index) => `scr_${index}`);
    for (const id of ids) await endedScript(store, id);
    expect((await pruneScripts(store)).scripts).toEqual([]);
    expect((await pruneScripts(store, { nowMs: Date.now() + 8 * DAY_MS })).scripts.toSorted()).toEqual(ids.toSorted());
    expect(await listScripts(store)).toMatchObject([{ scriptId: waiting.scriptId, state: 'suspended' }]);
    expect((await pruneScripts(store, { waitingAfterMs: 0, nowMs: Date.now() + 1 })).scripts).toEqual([
      waiting.scriptId,
    ]);
  });
});

describe('a list of suspended scripts', () => {
  it('shows the answer of each decision that was made, in either form', async () => {
    const store = memoryStore();
    const harness = open({ store });
    const source = 'await Promise.all(["a", "b", "c"].map((text) => tools.note({ text })))';
    const { scriptId, pendingApprovals } = suspended(await harness.runScript(source));
    const [one, other, third] = pendingApprovals.map(({ approvalId }) => approvalId) as [string, string, string];
    await harness.decide(scriptId, { [one]: 'approve', [other]: { decision: 'deny', note: 'not now' } });
    const [listed] = await listScripts(store);
    expect(listed?.approvals?.map(({ approvalId, decided }) => [approvalId, decided])).toEqual([
      [one, 'approve'],
      [other, 'deny'],
      [third, undefined],
    ]);
  });
});

it('a replay of a script that the store does not have is refused', async () => {
  const failure = failureOf(await open({ store: memoryStore() }).replay('scr_unknown'));
  expect(failure.code).toBe('SuspensionError');
});

/** The store, which does something once before a step of a cancellation. */
function meanwhile(store: HarnessStore, step: 'current' | 'append', act: () => Promise<unknown>): HarnessStore {
  let isDone = false;
  const once = async () => {
    if (isDone) return;
    isDone = true;
    await act();
  };
  const { claim, journal } = store;
  return {
    ...store,
    claim: {
      current: async (id) => {
        if (step === 'current') await once();
        return claim.current(id);
      },
      take: claim.take.bind(claim),
      renew: claim.renew.bind(claim),
      release: claim.release.bind(claim),
    },
    journal: {
      ...bound(journal),
      append: async (...args) => {
        if (step === 'append') await once();
        return journal.append(...args);
      },
    },
  };
}

function bound(journal: HarnessStore['journal']): HarnessStore['journal'] {
  return {
    append: journal.append.bind(journal),
    read: journal.read.bind(journal),
    list: journal.list.bind(journal),
    delete: journal.delete.bind(journal),
  };
}

describe('a stored script that is cancelled', () => {
  it('while another process completes it has the outcome of that process', async () => {
    const store = memoryStore();
    const effects: Effects = [];
    const other = open({ store, effects });
    const waiting = suspended(await other.runScript('return (await tools.note({ text: "a" })).noted'));
    const complete = () => other.resume(waiting.scriptId, decideAll(waiting, 'approve'));
    const outcome = await open({ store: meanwhile(store, 'current', complete) }).cancelScript(waiting.scriptId);
    expect(effects).toEqual(['script: a']);
    expect(valueOf(outcome)).toBe('a');
  });

  it('while another process claims it is cancelled after that claim', async () => {
    const store = memoryStore();
    const { scriptId } = suspended(await open({ store }).runScript('await tools.note({ text: "a" })'));
    const claim = async () => {
      const taken = await store.claim.take(scriptId, (await store.claim.current(scriptId))!.epoch, HOLDER);
      await store.claim.release(scriptId, taken!.epoch);
    };
    const outcome = await open({ store: meanwhile(store, 'append', claim) }).cancelScript(scriptId);
    expect(failureOf(outcome).code).toBe('ScriptCancelledError');
    expect(await listScripts(store)).toMatchObject([{ scriptId, state: 'ended' }]);
  });
});

describe('a script that is recovered', () => {
  it('is reported to the listeners of the recovery as an item of its own', async () => {
    const store = memoryStore();
    const { scriptId } = await open({ store }).runScript('await tools.mark({ text: "a" }); return 1');
    const lines = (await store.journal.read(scriptId))!.lines.filter((line) => !line.includes('"t":"ended"'));
    const events: StreamEvent[] = [];
    const onEvent = (event: StreamEvent) => void events.push(event);
    const interrupted = await keepCopy(memoryStore(), scriptId, { lines });
    expect(valueOf(await open({ store: interrupted }).recover(scriptId, { onEvent }))).toBe(1);
    const { output_items: items } = foldResponse(events);
    expect(items).toMatchObject([{ type: 'script_execution' }, { type: 'script_execution_output' }]);
  });
});
