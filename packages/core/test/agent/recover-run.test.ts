import { describe, expect, it, vi } from 'vitest';
import { extendHistory, recoverRun, resumeAgent, resumeRun, runAgent } from '#core/agent/index.js';
import { memoryStore, ToolscriptUsageError } from '#core/index.js';
import { foldResponse } from '#core/history/index.js';
import {
  RunInterruption,
  type EventPayload,
  type HarnessStore,
  type ModelProvider,
  type OutputItem,
  type StreamEvent,
} from '#core/protocol/index.js';
import { open, type Effects } from '../suspension/world.js';
import { inTags, NONCE } from './running.js';
import { call, collect, message, recording, replayed, script, withAnswer } from './cast.js';

/** A provider that answers first with the parts, and then, when there are results, with `Done.`. */
function provider(parts: readonly EventPayload[][], asked: OutputItem[][] = []): ModelProvider {
  return {
    api: 'mine',
    model: 'm',
    capabilities: { stopSequences: false, customTools: false },
    async *stream({ conversation }, options): AsyncGenerator<EventPayload> {
      asked.push([...conversation]);
      const hasResults = conversation.some(({ type }) => type.endsWith('_output'));
      yield { type: 'response_start' };
      for (const payloads of hasResults ? [message('item_done', 'Done.')] : parts)
        for (const payload of payloads) yield withAnswer(payload, options?.answerId);
      yield { type: 'response_done', status: 'completed' };
    },
  };
}

const agent = { slug: 'tester', carrier: 'tool', functions: 'all' } as const;

interface Cut {
  events: StreamEvent[];
  store: () => Promise<HarnessStore>;
  effects: string[];
}

/** The run as its stores had it at each of its events. */
async function cuts(parts: readonly EventPayload[][], more: object = {}): Promise<Cut[]> {
  const effects: Effects = [];
  const { store, writes } = recording(memoryStore());
  const harness = open({ effects, store });
  const seen: StreamEvent[] = [];
  const found: Cut[] = [];
  for await (const event of runAgent({ provider: provider(parts), harness, agent, input: 'Go.', ...more })) {
    seen.push(event);
    const written = [...writes];
    found.push({ events: [...seen], store: () => replayed(written), effects: [...effects] });
  }
  return found;
}

const TWO_MARKS =
  "await tools.mark({ text: 'a' }); await tools.read({}); await tools.mark({ text: 'b' }); return 'both';";

describe('a run whose process ended', () => {
  const parts = [
    message('item_1', 'I look.'),
    script('item_2', TWO_MARKS),
    call('item_3', 'mark', { text: 'c' }),
    call('item_4', 'read', { size: 2 }),
  ];

  const inText = {
    agent: { slug: 'tester', carrier: 'text', afterScript: 'continue' } as const,
    scriptSourceDeltas: true,
    nonce: NONCE,
  };
  const block = inTags(TWO_MARKS);

  it.each([
    ['by calls', parts, { agent }],
    ['in text', [message('item_1', `I look.\n${block}\nThat is it.`)], inText],
  ])(
    '%s continues from each of its events: nothing is done twice, every call has a result, and the model ends it',
    async (_, parts, more) => {
      const all = await cuts(parts, more);
      expect(all.length).toBeGreaterThan(20);
      for (const { events, store, effects: before } of all.slice(0, -1)) {
        const effects: Effects = [];
        const asked: OutputItem[][] = [];
        const harness = open({ effects, store: await store() });
        const rest = await collect(
          recoverRun({ provider: provider(parts, asked), harness, events, history: [], force: true, ...more }),
        );
        const where = `${events.length}: ${events.at(-1)!.payload.type}`;
        expect(rest.at(-1)!.payload, where).toMatchObject({ type: 'response_done', status: 'completed' });
        const whole = [...events, ...rest];
        expect(
          whole.map(({ seq }) => seq),
          where,
        ).toEqual(whole.map((_, index) => index));
        expect(new Set(whole.map(({ run_id: id }) => id)).size, where).toBe(1);
        const done = [...before, ...effects];
        expect(done.length, `${where} ${done.join()}`).toBe(new Set(done).size);
        const items = extendHistory([], whole);
        for (const conversation of more === inText ? [] : asked)
          expect(conversation.at(-1), where).not.toMatchObject({ role: 'assistant' });
        expect(
          items.map((item) => item.call_id),
          where,
        ).not.toContain('');
        const outputs = items.filter(({ type }) => type.endsWith('_output')).map(({ call_id: id }) => id);
        expect(new Set(outputs).size, where).toBe(outputs.length);
        for (const item of items)
          if ((item.type === 'script_execution' || item.type === 'function_call') && item.cancelled !== true)
            expect(outputs, where).toContain(item.call_id);
        expect(JSON.stringify(items.at(-1)), where).toContain('Done.');
        expect(foldResponse(whole).status, where).toBe('completed');
      }
    },
    120_000,
  );

  it('finds a structured call whose store has more than its events', async () => {
    const all = await cuts([call('item_3', 'mark', { text: 'c' })]);
    const asked = all.findIndex(({ events }) =>
      JSON.stringify(events.at(-1)).includes('"final_item":{"type":"function_call"'),
    );
    expect(asked).toBeGreaterThan(0);
    for (const [index, { store, effects: before }] of all.slice(0, -1).entries()) {
      const effects: Effects = [];
      const { events } = all[Math.min(index, asked)]!;
      const harness = open({ effects, store: await store() });
      const rest = await collect(recoverRun({ provider: provider(parts), harness, agent, events, force: true }));
      expect(rest.at(-1)!.payload).toMatchObject({ type: 'response_done', status: 'completed' });
      if (index >= asked) expect([...before, ...effects], `${index}`).toEqual(['mark: c']);
    }
  });

  it.each([
    ['structured', call('item_3', 'mark', { text: 'c' })],
    ['of a script', script('item_3', "return tools.mark({ text: 'c' });")],
  ])('reports a started call as unknown, also if its run was cancelled: %s', async (_, part) => {
    const { store: recorded, writes } = recording(memoryStore());
    const events: StreamEvent[] = [];
    const isMade = () => events.some(({ payload }) => payload.type === 'tool_call_done');
    for await (const event of runAgent({
      provider: provider([part]),
      harness: open({ effects: [], store: recorded }),
      agent,
      input: 'Go.',
    }))
      if (!isMade()) events.push(event);
    events.splice(events.findIndex(({ payload }) => payload.type === 'tool_call_start'));
    let unknown = 0;
    for (let count = 1; count <= writes.length; count++) {
      const store = await replayed(writes.slice(0, count));
      const { scripts } = await store.journal.list();
      const lines = scripts.length === 0 ? [] : ((await store.journal.read(scripts[0]!.scriptId))?.lines ?? []);
      const text = lines.join();
      if (!text.includes('"t":"intent"') || text.includes('"t":"finished"') || text.includes('"t":"delivered"'))
        continue;
      const harness = open({ effects: [], store });
      const signal = AbortSignal.abort();
      const rest = await collect(recoverRun({ provider: provider([]), harness, agent, events, force: true, signal }));
      expect(rest.at(-1)!.payload).toMatchObject({ type: 'response_done', status: 'cancelled' });
      expect(JSON.stringify(rest)).toMatch(/is not known|"status":"unknown"/u);
      unknown += 1;
    }
    expect(unknown).toBeGreaterThan(0);
  });

  it('keeps the interrupted text for users, and requests the answer again', async () => {
    const all = await cuts([message('item_1', 'I look.'), script('item_2', "return 'x';")]);
    const { events, store } = all.find(({ events: seen }) => seen.at(-1)!.payload.type === 'item_delta')!;
    const asked: OutputItem[][] = [];
    const again = provider([script('item_9', "return 'y';")], asked);
    await collect(recoverRun({ provider: again, harness: open({ store: await store() }), agent, events, force: true }));
    expect(asked[0]!.map((item) => (item.type === 'message' ? item.content : item.type))).toEqual(['Go.']);
    expect(extendHistory([], events).map((item) => (item.type === 'message' ? item.content : item.type))).toEqual([
      'Go.',
      'I',
    ]);
  });

  it('reports a call without a recorded end as unknown', async () => {
    const all = await cuts(parts);
    const { events } = all.find(({ events: seen }) => seen.at(-1)!.payload.type === 'tool_call_start')!;
    const effects: Effects = [];
    const rest = await collect(
      recoverRun({ provider: provider(parts), harness: open({ effects }), agent, events, force: true }),
    );
    expect(effects.filter((effect) => effect === 'mark: a')).toEqual([]);
    expect(JSON.stringify(rest)).toContain('the process ended while this script ran');
  });
});

describe('a script whose run was closed after its process ended', () => {
  it('is recovered in another run under its own item, and the model continues with its result', async () => {
    const all = await cuts([script('item_1', TWO_MARKS)]);
    const { events, store, effects: before } = all.find(({ effects }) => effects.length === 1)!;
    const closed = extendHistory([], events);
    const effects: Effects = [];
    const harness = open({ effects, store: await store() });
    const model = { provider: provider([message('item_8', 'I wait.')]), harness, agent };
    const later = await collect(runAgent({ ...model, history: closed, input: 'And now?' }));
    const { script_id: suspension, call_id: callId } = closed.find(({ type }) => type === 'script_execution')!;
    const rest = await collect(
      resumeAgent({
        ...model,
        history: extendHistory(closed, later),
        suspension: suspension as string,
        recover: { force: true },
      }),
    );
    expect(rest.map(({ payload }) => payload)).not.toContainEqual(
      expect.objectContaining({ type: 'item_start', item_type: 'script_execution' }),
    );
    const outputs = rest.flatMap(({ payload }) =>
      payload.type === 'item_done' && payload.final_item.type === 'script_execution_output' ? [payload.final_item] : [],
    );
    expect(outputs).toMatchObject([{ call_id: callId, status: 'completed' }]);
    expect([...before, ...effects]).toEqual(['mark: a', 'mark: b']);
    expect(rest.at(-1)!.payload).toMatchObject({ type: 'response_done', status: 'completed' });
    expect(JSON.stringify(rest)).toContain('Done.');
  });
});

describe('a script that has ended, whose events are lost', () => {
  const ended = async (parts: readonly EventPayload[][], isEnd: (event: StreamEvent) => boolean) => {
    const all = await cuts(parts);
    const { events } = all.find(({ events: seen }) => seen.at(-1)!.payload.type === 'tool_call_start')!;
    const { store } = all.find(({ events: seen }) => isEnd(seen.at(-1)!))!;
    const effects: Effects = [];
    const harness = open({ effects, store: await store() });
    const rest = await collect(recoverRun({ provider: provider(parts), harness, agent, events }));
    return { items: extendHistory([], [...events, ...rest]), effects, last: rest.at(-1)!.payload };
  };

  it('has its outcome reported with all calls, and repeats nothing', async () => {
    const isEnd = ({ payload }: StreamEvent) =>
      payload.type === 'item_start' && payload.item_type === 'script_execution_output';
    const { items, effects, last } = await ended([script('item_2', TWO_MARKS)], isEnd);
    expect(effects).toEqual([]);
    expect(items.filter(({ type }) => type === 'script_execution_output')).toMatchObject([
      {
        status: 'completed',
        result: 'both',
        operations: [{ status: 'completed' }, { status: 'completed' }, { status: 'completed' }],
      },
    ]);
    expect(last).toMatchObject({ type: 'response_done', status: 'completed' });
  });

  it('has its failure reported', async () => {
    const isEnd = ({ payload }: StreamEvent) =>
      payload.type === 'item_start' && payload.item_type === 'script_execution_output';
    const code = "await tools.mark({ text: 'a' }); throw new RangeError('too far');";
    const { items, effects } = await ended([script('item_2', code)], isEnd);
    expect(effects).toEqual([]);
    expect(items.find(({ type }) => type === 'script_execution_output')).toMatchObject({
      status: 'failed',
      error: { code: 'ScriptRuntimeError', message: expect.stringContaining('too far') },
      operations: [{ status: 'completed' }],
    });
  });

  it('that made a structured call has its result', async () => {
    const isEnd = ({ payload }: StreamEvent) =>
      payload.type === 'item_start' && payload.item_type === 'function_call_output';
    const { items, effects } = await ended([call('item_3', 'mark', { text: 'c' })], isEnd);
    expect(effects).toEqual([]);
    expect(items.filter(({ type }) => type === 'function_call_output')).toMatchObject([
      { call_id: 'call_item_3', success: true },
    ]);
  });
});

describe('a script that had only read when its process ended', () => {
  const READS = 'await tools.read({}); return (await tools.read({ size: 2 })).length;';

  it('runs again if the store has lost nothing', async () => {
    const all = await cuts([script('item_2', READS)]);
    const running = all.filter(({ events }) => {
      const items = extendHistory([], events);
      const isDone = items.some(({ type }) => type === 'script_execution_output');
      return items.some((item) => item.type === 'script_execution' && item.status === 'executing') && !isDone;
    });
    expect(running.length).toBeGreaterThan(4);
    for (const { events, store } of running) {
      const kept = await store();
      const how = { provider: provider([]), harness: open({ store: kept }), agent, events, storeIsWhole: true };
      const items = extendHistory([], [...events, ...(await collect(recoverRun(how)))]);
      expect(items.filter(({ type }) => type === 'script_execution')).toHaveLength(1);
      expect(items.filter(({ type }) => type === 'script_execution_output')).toMatchObject([
        { status: 'completed', result: 2 },
      ]);
      expect(JSON.stringify(items.at(-1))).toContain('Done.');
    }
  });

  it('does not run again if one of its calls may have had an effect', async () => {
    const all = await cuts([script('item_2', TWO_MARKS)]);
    const { events } = all.find(({ events: seen }) => seen.at(-1)!.payload.type === 'tool_call_start')!;
    const effects: Effects = [];
    const harness = open({ effects, store: memoryStore() });
    const rest = await collect(recoverRun({ provider: provider([]), harness, agent, events, storeIsWhole: true }));
    expect(effects).toEqual([]);
    expect(JSON.stringify(rest)).toContain('check before you repeat any of them');
  });

  it('makes no more calls with effects after it was abandoned, even if its process is alive', async () => {
    const store = memoryStore();
    const effects: Effects = [];
    const first = open({ effects, store });
    const second = open({ store });
    const abandoned: boolean[] = [];
    const outcome = await first.runScript("await tools.read({}); await tools.note({ text: 'a' });", {
      approvals: async ({ scriptId }) => {
        abandoned.push(await second.abandon(scriptId!), await second.abandon(scriptId!));
        return 'approve' as const;
      },
    });
    expect(abandoned).toEqual([true, true]);
    expect(outcome).toMatchObject({ status: 'failed', error: { code: 'StoreError' } });
    expect(effects).toEqual([]);
  });

  it('is left to a later recovery if the store fails', async () => {
    const all = await cuts([script('item_2', READS)]);
    const { events, store } = all.find(({ events: seen }) => seen.at(-1)!.payload.type === 'tool_call_done')!;
    /** Recovers over a store whose claim with this number fails. Returns the new events and the number of claims. */
    const recovered = async (failsAt: number) => {
      const kept = await store();
      let claims = 0;
      const take = kept.claim.take.bind(kept.claim);
      vi.spyOn(kept.claim, 'take').mockImplementation(async (...given) => {
        if (++claims === failsAt) throw new Error('the database is away');
        return take(...given);
      });
      const harness = open({ store: kept });
      const rest = await collect(recoverRun({ provider: provider([]), harness, agent, events, storeIsWhole: true }));
      return { rest, claims };
    };
    const { rest, claims } = await recovered(0);
    const items = extendHistory([], [...events, ...rest]);
    expect(items.filter(({ type }) => type === 'script_execution_output')).toMatchObject([{ status: 'completed' }]);
    for (let failsAt = 1; failsAt <= claims; failsAt++)
      await expect(recovered(failsAt), `claim ${failsAt} of ${claims}`).rejects.toThrow('The store failed');
  });

  it('cannot be abandoned once it has stored data', async () => {
    const store = memoryStore();
    const outcome = await open({ store }).runScript("await tools.mark({ text: 'a' });");
    expect(await open({ store }).abandon(outcome.scriptId)).toBe(false);
    expect(await open().abandon(outcome.scriptId)).toBe(false);
  });
});

describe('an interruption', () => {
  it('stops a run so that another process recovers its script: completed calls are known, and running ones unknown', async () => {
    const store = memoryStore();
    const effects: Effects = [];
    const parts = [script('item_2', "await tools.mark({ text: 'a' }); await sleep(60_000); return 'late';")];
    const events: StreamEvent[] = [];
    const controller = new AbortController();
    const first = open({ effects, store });
    const options = { provider: provider(parts), harness: first, agent, input: 'Go.', signal: controller.signal };
    for await (const event of runAgent(options)) {
      if (!controller.signal.aborted) events.push(event);
      if (event.payload.type === 'tool_call_done') controller.abort(new RunInterruption());
    }
    expect((await store.journal.list({ state: 'interrupted' })).scripts).toHaveLength(1);
    const stop = new AbortController();
    const second = open({ effects, store });
    const rest: StreamEvent[] = [];
    const again = { provider: provider(parts), harness: second, agent, events, signal: stop.signal };
    for await (const event of recoverRun(again)) {
      rest.push(event);
      if (event.payload.type === 'item_update' && event.payload.changes.status === 'executing')
        setImmediate(() => stop.abort());
    }
    expect(effects).toEqual(['mark: a']);
    expect(
      extendHistory([], [...events, ...rest]).find(({ type }) => type === 'script_execution_output'),
    ).toMatchObject({
      error: { code: 'ScriptCancelledError' },
      operations: [{ status: 'completed' }],
    });
    expect((await store.journal.list({ state: 'ended' })).scripts).toHaveLength(1);
  });
});

describe('a structured call that was decided', () => {
  it.each(['approve', 'deny'] as const)(
    'to %s is not repeated if its process dies before it reports the result',
    async (decision) => {
      const store = memoryStore();
      const effects: Effects = [];
      const parts = [call('item_2', 'note', { text: 'a' })];
      const events = await collect(
        runAgent({ provider: provider(parts), harness: open({ effects, store }), agent, input: 'Go.' }),
      );
      const { script_id: scriptId, approval_ids: ids } = events.at(-1)!.payload as {
        script_id: string;
        approval_ids: string[];
      };
      const start = { ...events.at(-1)!, seq: events.length, payload: { type: 'response_start' } } as StreamEvent;
      await open({ effects, store }).resume(scriptId, { [ids[0]!]: decision });
      const harness = open({ effects, store });
      const rest = await collect(
        recoverRun({ provider: provider(parts), harness, agent, events: [...events, start], force: true }),
      );
      expect(rest.at(-1)!.payload).toMatchObject({ type: 'response_done', status: 'completed' });
      expect(rest.filter(({ payload }) => payload.type === 'approval_requested')).toEqual([]);
      expect(effects).toHaveLength(decision === 'approve' ? 1 : 0);
    },
  );
});

describe('resumeRun', () => {
  const waiting = async (parts: readonly EventPayload[][], store: HarnessStore) => {
    const events = await collect(
      runAgent({ provider: provider(parts), harness: open({ store }), agent, input: 'Go.' }),
    );
    const done = events.at(-1)!.payload as { script_id: string; approval_ids: string[] };
    return { events, scriptId: done.script_id, decisions: { [done.approval_ids[0]!]: 'approve' as const } };
  };

  it.each([
    ['a script', [script('item_2', "return await tools.note({ text: 'a' });")]],
    ['a structured call', [call('item_2', 'note', { text: 'a' })]],
  ])('without a decision leaves %s waiting', async (_name, parts) => {
    const store = memoryStore();
    const { events, scriptId } = await waiting(parts, store);
    const rest = await collect(resumeRun({ provider: provider(parts), harness: open({ store }), agent, events }));
    expect(rest.at(-1)!.payload).toMatchObject({ type: 'response_done', status: 'suspended', script_id: scriptId });
  });

  it.each([
    ['a script', [script('item_2', "return await tools.note({ text: 'a' });")]],
    ['a structured call', [call('item_2', 'note', { text: 'a' })]],
  ])('continues after %s if an earlier process has resumed it', async (_name, parts) => {
    const store = memoryStore();
    const effects: Effects = [];
    const { events, scriptId, decisions } = await waiting(parts, store);
    // The earlier process died before it had written any event.
    await open({ effects, store }).resume(scriptId, decisions);
    const again = { provider: provider(parts), harness: open({ effects, store }), agent, events, decisions };
    expect((await collect(resumeRun(again))).at(-1)!.payload).toMatchObject({ status: 'failed' });
    const rest = await collect(resumeRun({ ...again, mayBeResumed: true }));
    expect(rest.at(-1)!.payload, JSON.stringify(rest)).toMatchObject({ type: 'response_done', status: 'completed' });
    expect(effects).toEqual(['script: a']);
    const outputs = extendHistory([], [...events, ...rest]).filter(({ type }) => type.endsWith('_output'));
    expect(JSON.stringify(outputs)).toContain('noted');
  });

  it('resumes a suspended run from its events', async () => {
    const effects: Effects = [];
    const harness = open({ effects, store: memoryStore() });
    const model = provider([script('item_1', "return (await tools.note({ text: 'x' })).noted;")]);
    const events = await collect(runAgent({ provider: model, harness, agent, input: 'Go.' }));
    const asked = events.flatMap(({ payload }) =>
      payload.type === 'approval_requested' ? [payload.approval.approval_id] : [],
    );
    const rest = await collect(
      resumeRun({ provider: model, harness, agent, events, decisions: { [asked[0]!]: 'approve' } }),
    );
    expect(rest[0]!.seq).toBe(events.length);
    expect(foldResponse([...events, ...rest]).status).toBe('completed');
    expect(effects).toEqual(['script: x']);
  });

  it("counts the run's answers before its approvals towards maxTurns", async () => {
    const harness = open({ store: memoryStore() });
    const model = provider([script('item_1', "return (await tools.note({ text: 'x' })).noted;")]);
    const limited = { provider: model, harness, agent: { ...agent, maxTurns: 1 } };
    const events = await collect(runAgent({ ...limited, input: 'Go.' }));
    const done = events.at(-1)!.payload as { approval_ids: string[] };
    const rest = await collect(resumeRun({ ...limited, events, decisions: { [done.approval_ids[0]!]: 'approve' } }));
    expect(rest.at(-1)!.payload).toMatchObject({ status: 'incomplete', incomplete_reason: 'max_turns' });
  });

  it('and recoverRun reject the events of another kind of run', async () => {
    const harness = open();
    const events = await collect(
      runAgent({ provider: provider([message('item_1', 'Hi')]), harness, agent, input: 'Go.' }),
    );
    expect(() => resumeRun({ provider: provider([]), harness, agent, events })).toThrow(ToolscriptUsageError);
    expect(() => recoverRun({ provider: provider([]), harness, agent, events })).toThrow(ToolscriptUsageError);
    expect(() => recoverRun({ provider: provider([]), harness, agent, events: [] })).toThrow(ToolscriptUsageError);
  });
});
