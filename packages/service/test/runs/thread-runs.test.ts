import { EventEnvelopes } from '@toolscript/core/ports';
import type { EventPayload, OutputItem } from '@toolscript/core/protocol';
import { describe, expect, it } from 'vitest';
import { allEvents } from '#service/runs/index.js';
import type { OpenDatabase } from '#service/stores/index.js';
import { inputOf, making, OTHERS, runsOf, texts, ThreadPlace } from './thread-place.js';

const isLinux = process.platform === 'linux';
const LEASE_MS = 30_000;

describe('a conversation', () => {
  it('is stored with its first prompt, and continues with all earlier messages', async () => {
    const place = new ThreadPlace();
    const database = await place.open();
    const thread = place.begin(database);
    const list = async () => (await database.stores.threads.list()).threads;
    expect([thread.isKept, await list()]).toEqual([false, []]);
    await place.say(thread, 'First question', 'It is 42.');
    expect(await list()).toMatchObject([
      { threadId: thread.id, title: 'First question', workspace: '/w', agentId: 'coder', principal: 'local' },
    ]);
    const continued = await place.reopen(await place.open(), thread.id);
    await place.say(continued, 'And twice that?', '84.');
    expect(texts(continued)).toEqual(['First question', 'It is 42.', 'And twice that?', '84.']);
    const states = (await runsOf(database, thread.id)).map(({ state }) => state);
    expect(states).toEqual(['completed', 'completed']);
  });

  it('includes the messages of another terminal since then', async () => {
    const place = new ThreadPlace();
    const here = place.begin(await place.open());
    await place.say(here, 'One', 'Yes.');
    const there = await place.reopen(await place.open(), here.id);
    await place.say(there, 'Two', 'Yes.');
    await place.say(here, 'Three', 'Yes.');
    expect(texts(here)).toEqual(['One', 'Yes.', 'Two', 'Yes.', 'Three', 'Yes.']);
  });

  it('stores each event once, in order and without a gap', async () => {
    const place = new ThreadPlace();
    const database = await place.open();
    const thread = place.begin(database);
    const events = await place.say(thread, 'Tell me a story', 'Once upon a time there was a thread.');
    expect(events.length).toBeGreaterThan(4);
    expect(await allEvents(database.stores, events[0]!.run_id)).toEqual(events);
  });

  it('keeps its first instructions for the model, and announces later changes once', async () => {
    const place = new ThreadPlace();
    const database = await place.open();
    const first = place.begin(database);
    await place.say(first, 'One', 'Yes.');
    const second = await place.reopen(database, first.id, 'Be long.');
    const [announced, ...prompt] = inputOf(await place.say(second, 'Two', 'Yes.'));
    expect(place.requests.at(-1)!.system).toContain('Be brief.');
    expect(place.requests.at(-1)!.system).not.toContain('Be long.');
    expect(prompt).toHaveLength(1);
    expect(announced).toMatchObject({ role: 'system', content: expect.stringContaining('Be long.') as string });
    const third = await place.reopen(database, first.id, 'Be long.');
    expect(inputOf(await place.say(third, 'Three', 'Yes.'))).toHaveLength(1);
  });

  it('is summarised when the user asks, and continues from the summary', async () => {
    const place = new ThreadPlace();
    const database = await place.open();
    const thread = place.begin(database);
    await place.say(thread, 'One', 'A long answer. '.repeat(200));
    const events = await place.compact(thread, 'All is said.');
    expect(thread.history.at(-1)).toMatchObject({ type: 'compaction', summary: 'All is said.', last_message: 'One' });
    const { tokens_before: before, tokens_after: after } = thread.history.at(-1)!;
    expect(after).toBeLessThan(Number(before) / 2);
    expect(events.at(-1)!.payload).toMatchObject({ type: 'response_done', status: 'completed' });
    const next = await place.reopen(await place.open(), thread.id);
    await place.say(next, 'Two', 'Yes.');
    const asked = JSON.stringify(place.requests.at(-1)!.conversation);
    expect(asked).toContain('All is said.');
    expect(asked).not.toContain('A long answer.');
    expect(await place.compact(next, { type: 'failure', status: 400, message: 'no' })).toMatchObject({});
    expect((await runsOf(database, thread.id)).map(({ state }) => state)).toEqual([
      'completed',
      'completed',
      'completed',
      'failed',
    ]);
    await place.say(next, 'Three', 'Still here.');
    expect(texts(next).slice(-2)).toEqual(['Three', 'Still here.']);
  });

  it('ends as failed if its run cannot be executed', async () => {
    const place = new ThreadPlace();
    const database = await place.open();
    const harness = place.openHarness();
    await harness.close();
    const thread = place.begin(database, harness);
    await expect(place.say(thread, 'One')).rejects.toThrow('closed');
    expect(await runsOf(database, thread.id)).toMatchObject([{ state: 'failed' }]);
    const next = await place.reopen(database, thread.id);
    await place.say(next, 'Two', 'Yes.');
    expect(texts(next).at(-1)).toBe('Yes.');
  });

  it('ends as cancelled if the user cancels it', async () => {
    const place = new ThreadPlace();
    const database = await place.open();
    const thread = place.begin(database);
    const cancelling = new AbortController();
    place.onAsked = async () => cancelling.abort();
    await thread.say('One', { signal: cancelling.signal, onEvent: () => {} });
    expect(await runsOf(database, thread.id)).toMatchObject([{ state: 'cancelled' }]);
  });
});

/** A thread whose last run another process has begun. */
async function heldByOther(place: ThreadPlace, database: OpenDatabase, owner: string, leaseMs = LEASE_MS) {
  const thread = place.begin(database);
  await place.say(thread, 'One', 'Yes.');
  const { runs, threads } = database.stores;
  const input = [{ type: 'message' as const, id: 'item_two', role: 'user' as const, content: 'Two' }];
  const draft = { principal: 'local', thread: { threadId: thread.id }, input, claim: { owner, leaseMs } };
  const { run } = await runs.create(draft);
  const payloads: EventPayload[] = [
    { type: 'response_start', input },
    { type: 'item_start', item_id: 'item_half', item_type: 'message', initial: { role: 'assistant' } },
    { type: 'item_delta', item_id: 'item_half', delta: 'Ha' },
  ];
  const envelopes = new EventEnvelopes(run);
  await threads.append(
    payloads.map((payload) => envelopes.next(payload)),
    { epoch: run.epoch },
  );
  return { thread, run };
}

describe('a conversation that another process works on', () => {
  it.skipIf(!isLinux)('is rejected in one sentence, when it is opened and at a prompt', async () => {
    const place = new ThreadPlace();
    const database = await place.open();
    const { thread } = await heldByOther(place, database, OTHERS.living);
    const sentence = `The conversation ${thread.id} is open in another process (${process.pid}). End that process first.`;
    await expect(place.reopen(database, thread.id)).rejects.toThrow(sentence);
    await expect(place.say(thread, 'Three')).rejects.toThrow(sentence);
  });

  it.skipIf(!isLinux)('continues at once if that process died: open items are interrupted', async () => {
    const place = new ThreadPlace();
    const database = await place.open();
    const { thread, run } = await heldByOther(place, database, OTHERS.dead);
    const next = await place.reopen(database, thread.id);
    await place.say(next, 'Three', 'Yes.');
    expect(await database.stores.runs.get(run.runId)).toMatchObject({ state: 'incomplete' });
    expect(texts(next)).toEqual(['One', 'Yes.', 'Two', 'Ha', 'Three', 'Yes.']);
    expect(next.history.find(({ cancelled }) => cancelled === true)).toMatchObject({ content: 'Ha' });
  });

  it.skipIf(!isLinux)('continues with the whole run if its script is recovered; another prompt closes it', async () => {
    const place = new ThreadPlace();
    const database = await place.open();
    const { run, thread } = await heldByOther(place, database, OTHERS.dead);
    const { length } = await allEvents(database.stores, run.runId);
    const item = {
      type: 'script_execution',
      id: 'item_s',
      call_id: 'call_s',
      script_id: 'scr_s_0',
      language: 'ts',
      format: 'tool',
      source_code: 'return 1',
      source_sha256: 'x',
      status: 'executing',
    } as OutputItem;
    const announced = { type: 'item_done', item_id: item.id, final_item: item } as const;
    await database.stores.threads.append([new EventEnvelopes(run, length).next(announced)], { epoch: run.epoch });
    const next = await place.reopen(database, thread.id);
    const events = await place.resume(next, { scriptId: 'scr_s_0', isInterrupted: true }, 'It has run.');
    expect(events[0]).toMatchObject({ run_id: run.runId, seq: length + 1 });
    expect(await database.stores.runs.get(run.runId)).toMatchObject({ state: 'completed' });
    expect(texts(next)).toEqual(texts(await place.reopen(database, thread.id)));
    const other = await heldByOther(place, database, OTHERS.dead);
    await place.resume(other.thread, { scriptId: 'scr_other_0' }, 'It is not there.').catch(() => {});
    expect(await database.stores.runs.get(other.run.runId)).toMatchObject({ state: 'incomplete' });
  });

  it('continues after the lease has expired if nothing is known about that process', async () => {
    const place = new ThreadPlace();
    const database = await place.open();
    const held = await heldByOther(place, database, OTHERS.unknown);
    await expect(place.say(held.thread, 'Three')).rejects.toThrow('is open in another process');
    const { thread } = await heldByOther(place, database, OTHERS.unknown, 1);
    await new Promise((resolve) => setTimeout(resolve, 5));
    await place.say(thread, 'Three', 'Yes.');
    expect(texts(thread)).toContain('Two');
  });

  it('stops here if that process has claimed the run, reports it once, and continues in memory', async () => {
    const place = new ThreadPlace();
    const database = await place.open();
    const thread = place.begin(database);
    const { runs } = database.stores;
    place.onAsked = async () => {
      const [run] = await runsOf(database, thread.id);
      await runs.release({ runId: run!.runId, epoch: 1 });
      await runs.claim({ owner: 'other', leaseMs: LEASE_MS, runId: run!.runId });
    };
    await place.say(thread, 'One', 'Too late');
    const lost = expect.stringContaining('Another process has claimed or deleted this conversation') as string;
    expect(place.warnings).toEqual([lost]);
    const [run] = await runsOf(database, thread.id);
    expect(run).toMatchObject({ state: 'running', owner: 'other' });
    place.onAsked = async () => {};
    await place.say(thread, 'Two', 'Yes.');
    expect(texts(thread).slice(-2)).toEqual(['Two', 'Yes.']);
    expect([place.warnings, await runsOf(database, thread.id)]).toEqual([[lost], [run]]);
  });
});

describe('a conversation that waits for approvals', () => {
  async function waiting(place: ThreadPlace, database: OpenDatabase, calls = 1) {
    const thread = place.begin(database);
    const [{ run_id: runId } = { run_id: '' }] = await place.say(thread, 'Make it', making(calls));
    const { approvals } = await database.stores.threads.listApprovals({ runId });
    return { thread, runId, scriptId: thread.waitingScript!, ids: approvals.map(({ approvalId }) => approvalId) };
  }

  it('is suspended with them, and resumes the same run with the decision, under its new claim', async () => {
    const place = new ThreadPlace();
    const database = await place.open();
    const { thread, runId, scriptId, ids } = await waiting(place, database);
    const [id = ''] = ids;
    expect(await database.stores.threads.approval(id)).toMatchObject({ state: 'pending', runId });
    const again = await place.reopen(database, thread.id);
    expect([scriptId, again.waitingScript]).toEqual([expect.any(String), scriptId]);
    const decisions = { [id]: { decision: 'approve', note: 'fine' } } as const;
    expect((await place.resume(again, { decisions }, 'Made.'))[0]!.run_id).toBe(runId);
    expect(place.fences).toEqual([{ runId, epoch: 2 }]);
    expect(await database.stores.threads.approval(id)).toMatchObject({ state: 'approved', decidedBy: 'local' });
    expect(await runsOf(database, thread.id)).toMatchObject([{ state: 'completed' }]);
    const events = await allEvents(database.stores, runId);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index));
    expect(texts(await place.reopen(database, thread.id))).toEqual(['Make it', 'I ask.', 'Made.']);
  });

  it('is read in chronological order if another prompt came first', async () => {
    const place = new ThreadPlace();
    const database = await place.open();
    const { thread, runId, scriptId, ids } = await waiting(place, database);
    await place.say(thread, 'And now?', 'It waits.');
    expect(thread.waitingScript).toBeUndefined();
    // Not within the same millisecond as the prompt before.
    await new Promise((resolve) => setTimeout(resolve, 2));
    const resumed = await place.resume(thread, { scriptId, decisions: { [ids[0]!]: 'approve' } }, 'Made.');
    expect(resumed[0]!.run_id).toBe(runId);
    const order = ['Make it', 'I ask.', 'And now?', 'It waits.', 'Made.'];
    expect(texts(thread)).toEqual(order);
    expect(texts(await place.reopen(database, thread.id))).toEqual(order);
  });

  it('keeps the other approval pending if one of two is decided', async () => {
    const place = new ThreadPlace();
    const database = await place.open();
    const { thread, ids } = await waiting(place, database, 2);
    await place.resume(thread, { decisions: { [ids[0]!]: 'approve' } });
    expect(await runsOf(database, thread.id)).toMatchObject([{ state: 'suspended', epoch: 2 }]);
    const states = await Promise.all(ids.map(async (id) => (await database.stores.threads.approval(id))?.state));
    expect(states).toEqual(['approved', 'pending']);
  });

  it('accepts the outcome of a script whose run has ended, without a prompt', async () => {
    const place = new ThreadPlace();
    const database = await place.open();
    const { thread, runId, scriptId, ids } = await waiting(place, database);
    const { runs } = database.stores;
    const { run } = (await runs.claim({ owner: 'other', leaseMs: LEASE_MS, runId, evenSuspended: true }))!;
    await runs.finish({ runId, epoch: run.epoch }, { state: 'incomplete' });
    await place.resume(thread, { scriptId, decisions: { [ids[0]!]: 'approve' } }, 'Outcome');
    expect(texts(await place.reopen(database, thread.id))).toEqual(['Make it', 'I ask.', 'Outcome']);
    expect((await runsOf(database, thread.id)).at(-1)).toMatchObject({ state: 'completed' });
  });
});
