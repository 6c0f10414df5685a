import { EventEnvelopes, type EventPayload } from '@toolscript/core/protocol';
import { allEvents } from '@toolscript/server/runs';
import { describe, expect, it } from 'vitest';
import type { ThreadDatabase } from '#cli/threads/thread-database.js';
import { AGENT, beginScript, message, OTHERS, play, runsOf, say, suspension, texts, ThreadPlace } from './place.js';

const isLinux = process.platform === 'linux';
const LEASE_MS = 30_000;

describe('a conversation', () => {
  it('is stored with its first prompt, and continues with all earlier messages', async () => {
    const place = new ThreadPlace();
    const database = await place.open();
    const thread = place.begin(database);
    expect([thread.isKept, await database.list()]).toEqual([false, []]);
    await say(thread, 'First question', 'It is 42.');
    const again = await place.open();
    expect(await again.list()).toMatchObject([
      { threadId: thread.id, title: 'First question', workspace: '/w', agentId: 'coder', principal: 'local' },
    ]);
    const continued = await place.reopen(again, thread.id);
    await say(continued, 'And twice that?', '84.');
    expect(texts(continued)).toEqual(['First question', 'It is 42.', 'And twice that?', '84.']);
    const states = (await runsOf(database, thread.id)).map(({ state }) => state);
    expect(states).toEqual(['completed', 'completed']);
  });

  it('includes the messages of another terminal since then', async () => {
    const place = new ThreadPlace();
    const [one, two] = [await place.open(), await place.open()];
    const here = place.begin(one);
    await say(here, 'One', 'Yes.');
    const there = await place.reopen(two, here.id);
    await say(there, 'Two', 'Yes.');
    await say(here, 'Three', 'Yes.');
    expect(texts(here)).toEqual(['One', 'Yes.', 'Two', 'Yes.', 'Three', 'Yes.']);
  });

  it('stores each event once, in order and without a gap', async () => {
    const place = new ThreadPlace();
    const database = await place.open();
    const thread = place.begin(database);
    const { input, ...names } = await thread.beginTurn('Tell me a story');
    const played = play(thread, names, [
      { type: 'response_start', input: [...input] },
      ...message('Once upon a time there was a thread.'),
      { type: 'response_done', status: 'completed' },
    ]);
    await thread.endRun();
    expect(await allEvents(database.stores, names.runId!)).toEqual(played);
  });

  it('keeps its first instructions for the model, and announces later changes once', async () => {
    const place = new ThreadPlace();
    const database = await place.open();
    const first = place.begin(database);
    await say(first, 'One', 'Yes.');
    const changed = { ...AGENT, system: 'Be long.' };
    const second = await place.reopen(database, first.id, changed);
    const { input } = await second.beginTurn('Two');
    expect([second.system, input.length]).toEqual(['Be brief.', 2]);
    expect(input[0]).toMatchObject({ role: 'system', content: expect.stringContaining('Be long.') as string });
    await second.endRun();
    const third = await place.reopen(database, first.id, changed);
    expect((await third.beginTurn('Three')).input).toHaveLength(1);
    await third.endRun();
  });

  it('ends as failed if its run emitted no end', async () => {
    const place = new ThreadPlace();
    const database = await place.open();
    const thread = place.begin(database);
    const { input, ...names } = await thread.beginTurn('One');
    const [start] = message('half');
    play(thread, names, [{ type: 'response_start', input }, start!]);
    await thread.endRun();
    expect(await runsOf(database, thread.id)).toMatchObject([{ state: 'failed' }]);
    await say(thread, 'Two', 'Yes.');
    expect(texts(thread).at(-1)).toBe('Yes.');
  });
});

/** A thread whose last run another process has begun. */
async function heldByOther(place: ThreadPlace, database: ThreadDatabase, owner: string, leaseMs = LEASE_MS) {
  const thread = place.begin(database);
  await say(thread, 'One', 'Yes.');
  const { runs, threads } = database.stores;
  const input = [{ type: 'message' as const, id: 'item_two', role: 'user' as const, content: 'Two' }];
  const draft = { principal: 'local', thread: { threadId: thread.id }, input, claim: { owner, leaseMs } };
  const { run } = await runs.create(draft);
  const payloads: EventPayload[] = [{ type: 'response_start', input }, ...message('Half').slice(0, 3)];
  const events = payloads.map((payload, seq) => ({
    event_id: `evt_${seq}`,
    run_id: run.runId,
    thread_id: thread.id,
    turn_id: run.turnId,
    seq,
    timestamp: Date.now(),
    payload,
  }));
  await threads.append(events, { epoch: run.epoch });
  return { thread, run };
}

describe('a conversation that another process works on', () => {
  it.skipIf(!isLinux)('is rejected in one sentence, when it is opened and at a prompt', async () => {
    const place = new ThreadPlace();
    const database = await place.open();
    const { thread } = await heldByOther(place, database, OTHERS.living);
    const sentence = `The conversation ${thread.id} is open in another process (${process.pid}). End that process first.`;
    await expect(place.reopen(database, thread.id)).rejects.toThrow(sentence);
    await expect(thread.beginTurn('Three')).rejects.toThrow(sentence);
  });

  it.skipIf(!isLinux)('continues at once if that process died: open items are interrupted', async () => {
    const place = new ThreadPlace();
    const database = await place.open();
    const { thread, run } = await heldByOther(place, database, OTHERS.dead);
    const next = await place.reopen(database, thread.id);
    await say(next, 'Three', 'Yes.');
    expect(await database.stores.runs.get(run.runId)).toMatchObject({ state: 'incomplete' });
    expect(texts(next)).toEqual(['One', 'Yes.', 'Two', 'Ha', 'Three', 'Yes.']);
    expect(next.history.find(({ cancelled }) => cancelled === true)).toMatchObject({ content: 'Ha' });
  });

  it.skipIf(!isLinux)('continues with the whole run if its script is recovered; another prompt closes it', async () => {
    const place = new ThreadPlace();
    const database = await place.open();
    const { run, thread } = await heldByOther(place, database, OTHERS.dead);
    const item = { type: 'script_execution', id: 'item_s', call_id: 'call_s', script_id: 'scr_s' } as const;
    const source = {
      language: 'ts',
      format: 'tool',
      source_code: '1',
      source_sha256: 'x',
      status: 'executing',
    } as const;
    const { length } = await allEvents(database.stores, run.runId);
    const envelopes = new EventEnvelopes(run, length);
    const announced = { type: 'item_done', item_id: item.id, final_item: { ...item, ...source } } as const;
    await database.stores.threads.append([envelopes.next(announced)], { epoch: run.epoch });
    const next = await place.reopen(database, thread.id);
    const continuation = await next.beginResume('scr_s', {});
    expect(continuation).toMatchObject({ type: 'run', storeIsWhole: true });
    expect(continuation.type === 'run' && continuation.events).toHaveLength(length + 1);
    expect(continuation.type === 'run' && continuation.history).toHaveLength(2);
    play(next, { ...run, nextSeq: length + 1 }, [
      { type: 'response_start' },
      { type: 'response_done', status: 'completed' },
    ]);
    await next.endRun();
    expect(await database.stores.runs.get(run.runId)).toMatchObject({ state: 'completed' });
    expect(texts(next)).toEqual(texts(await place.reopen(database, thread.id)));
    const other = await heldByOther(place, database, OTHERS.dead);
    expect(await other.thread.beginResume('scr_other', {})).toMatchObject({ type: 'script' });
    expect(await database.stores.runs.get(other.run.runId)).toMatchObject({ state: 'incomplete' });
    await other.thread.endRun();
  });

  it('continues after the lease has expired if nothing is known about that process', async () => {
    const place = new ThreadPlace();
    const database = await place.open();
    const held = await heldByOther(place, database, OTHERS.unknown);
    await expect(held.thread.beginTurn('Three')).rejects.toThrow('is open in another process');
    const { thread } = await heldByOther(place, database, OTHERS.unknown, 1);
    await new Promise((resolve) => setTimeout(resolve, 5));
    await say(thread, 'Three', 'Yes.');
    expect(texts(thread)).toContain('Two');
  });

  it('stops here if that process has claimed the run, and reports it once', async () => {
    const place = new ThreadPlace();
    const database = await place.open();
    const thread = place.begin(database);
    const { input, ...names } = await thread.beginTurn('One');
    const { signal } = thread;
    const runId = names.runId!;
    await database.stores.runs.release({ runId, epoch: 1 });
    await database.stores.runs.claim({ owner: 'other', leaseMs: LEASE_MS, runId });
    play(thread, names, [{ type: 'response_start', input }, ...message('Too late')]);
    await thread.endRun();
    expect(signal?.aborted).toBe(true);
    expect(place.warnings).toEqual([
      expect.stringContaining('Another process has claimed or deleted this conversation'),
    ]);
    expect(await allEvents(database.stores, runId)).toEqual([]);
  });
});

describe('a conversation that waits for approvals', () => {
  async function waiting(place: ThreadPlace, database: ThreadDatabase) {
    const thread = place.begin(database);
    const { input, ...names } = await thread.beginTurn('Make it');
    play(thread, names, [{ type: 'response_start', input }, ...message('I ask.'), ...suspension('scr_1', 'apr_1')]);
    await thread.endRun();
    return { thread, names };
  }

  it('is suspended with them, and resumes the same run with the decision', async () => {
    const place = new ThreadPlace();
    const database = await place.open();
    const { thread, names } = await waiting(place, database);
    expect(thread.waitingScript).toBe('scr_1');
    expect(await database.stores.threads.approval('apr_1')).toMatchObject({ state: 'pending', runId: names.runId });
    const again = await place.reopen(database, thread.id);
    expect(again.waitingScript).toBe('scr_1');
    const resumed = await beginScript(again, 'scr_1', { apr_1: { decision: 'approve', note: 'fine' } });
    expect(resumed).toMatchObject({ runId: names.runId, turnId: names.turnId });
    play(again, resumed, [
      { type: 'response_start' },
      ...message('Made.'),
      { type: 'response_done', status: 'completed' },
    ]);
    await again.endRun();
    expect(await database.stores.threads.approval('apr_1')).toMatchObject({ state: 'approved', decidedBy: 'local' });
    expect(await runsOf(database, thread.id)).toMatchObject([{ state: 'completed' }]);
    const events = await allEvents(database.stores, names.runId!);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index));
    expect(texts(await place.reopen(database, thread.id))).toEqual(['Make it', 'I ask.', 'Made.']);
  });

  it('is read in chronological order if another prompt came first', async () => {
    const place = new ThreadPlace();
    const database = await place.open();
    const { thread, names } = await waiting(place, database);
    await say(thread, 'And now?', 'It waits.');
    expect(thread.waitingScript).toBeUndefined();
    const resumed = await beginScript(thread, 'scr_1', { apr_1: 'approve' });
    expect(resumed.runId).toBe(names.runId);
    // Not within the same millisecond as the prompt before.
    await new Promise((resolve) => setTimeout(resolve, 2));
    play(thread, resumed, [
      { type: 'response_start' },
      ...message('Made.'),
      { type: 'response_done', status: 'completed' },
    ]);
    await thread.endRun();
    const order = ['Make it', 'I ask.', 'And now?', 'It waits.', 'Made.'];
    expect(texts(thread)).toEqual(order);
    expect(texts(await place.reopen(database, thread.id))).toEqual(order);
  });

  it('keeps the other approval pending if one of two is decided', async () => {
    const place = new ThreadPlace();
    const database = await place.open();
    const { thread } = await waiting(place, database);
    const resumed = await beginScript(thread, 'scr_1');
    play(thread, resumed, [{ type: 'response_start' }, ...suspension('scr_1', 'apr_1')]);
    await thread.endRun();
    expect(await runsOf(database, thread.id)).toMatchObject([{ state: 'suspended', epoch: 2 }]);
    expect(await database.stores.threads.approval('apr_1')).toMatchObject({ state: 'pending' });
  });

  it('accepts the outcome of a script whose run has ended, without a prompt', async () => {
    const place = new ThreadPlace();
    const database = await place.open();
    const thread = place.begin(database);
    await say(thread, 'One', 'Yes.');
    const begun = await beginScript(thread, 'scr_9');
    play(thread, begun, [
      { type: 'response_start', input: [] },
      ...message('Outcome'),
      { type: 'response_done', status: 'completed' },
    ]);
    await thread.endRun();
    expect(texts(await place.reopen(database, thread.id))).toEqual(['One', 'Yes.', 'Outcome']);
    expect((await runsOf(database, thread.id)).at(-1)).toMatchObject({ state: 'completed' });
  });
});
