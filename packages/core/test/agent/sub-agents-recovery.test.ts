import { describe, expect, it } from 'vitest';
import { createSubAgents, recoverRun, resumeRun, runAgent } from '#core/agent/index.js';
import { memoryStore } from '#core/index.js';
import { foldResponse } from '#core/history/index.js';
import type { EventPayload, HarnessStore, StreamEvent } from '#core/protocol/index.js';
import { open, tools, type Effects } from '../suspension/world.js';
import { cast, collect, recording, replayed, runs, says, type Role } from './cast.js';

const agent = { slug: 'root', carrier: 'tool' } as const;
const first =
  (code: string): Role =>
  (turn) =>
    turn === 0 ? runs(code) : says('Done.');

/** `Leaf` n reads a file and marks n. `Level 1` launches three leaves at once and then marks itself. */
const launching = (how: 'sync' | 'async') => ({
  'Leaf 1': first("return tools.mark({ text: '1' });"),
  'Leaf 2': first("return tools.mark({ text: '2' });"),
  'Leaf 3': first("return tools.mark({ text: '3' });"),
  'Level 1': first(
    how === 'sync'
      ? `const all = await Promise.all([1, 2, 3].map((n) => tools.agents.launch.sync({ task: 'Leaf ' + n, fileKey: 'notes' })));
         await tools.mark({ text: 'level 1' });
         return all.map(({ answer }) => answer);`
      : `const all = await Promise.all([1, 2, 3].map((n) => tools.agents.launch.async({ task: 'Leaf ' + n, fileKey: 'notes' })));
         await tools.mark({ text: 'level 1' });
         return Promise.all(all.map(async ({ runId }) => (await tools.agents.result({ runId })).answer));`,
  ),
  Go: first("return (await tools.agents.launch.sync({ task: 'Level 1' })).answer;"),
});

interface Cut {
  events: StreamEvent[];
  store: () => Promise<HarnessStore>;
  before: string[];
}

function world(effects: Effects, store: HarnessStore) {
  const subAgents = createSubAgents({ documentText: async (key) => `text of ${key}` });
  const harness = open({ tools: [...tools(effects), ...subAgents.tools], approvals: 'auto', store });
  return { harness, subAgents };
}

/** The run as its stores had it at each of its events. */
async function cuts(how: 'sync' | 'async'): Promise<Cut[]> {
  const effects: Effects = [];
  const { store, writes } = recording(memoryStore());
  const seen: StreamEvent[] = [];
  const found: Cut[] = [];
  for await (const event of runAgent({
    provider: cast(launching(how)),
    agent,
    input: 'Go.',
    ...world(effects, store),
  })) {
    seen.push(event);
    const written = [...writes];
    found.push({ events: [...seen], store: () => replayed(written), before: [...effects] });
  }
  return found;
}

/** The payloads of a run and of its sub-agents, each with the run that emitted it. */
function all(events: readonly StreamEvent[]): { run: string; payload: EventPayload }[] {
  const unfold = (run: string, payload: EventPayload): { run: string; payload: EventPayload }[] => [
    { run, payload },
    ...(payload.type === 'agent_event' ? unfold(payload.agent_run_id, payload.event as EventPayload) : []),
  ];
  return events.flatMap(({ run_id: run, payload }) => unfold(run, payload));
}

describe('a run whose process ended while sub-agents worked', () => {
  it.each(['sync', 'async'] as const)(
    'launched %s: each effect happens once, no sub-agent starts twice, and each of them ends and is reported',
    async (how) => {
      const whole = await cuts(how);
      // An interruption at every event takes long, and most interruptions are alike.
      const some = whole.slice(0, -1).filter((_, index) => index % 4 === 0);
      expect(some.length).toBeGreaterThan(15);
      const complete: number[] = [];
      for (const { events, store, before } of some) {
        const effects: Effects = [];
        const { harness, subAgents } = world(effects, await store());
        const provider = cast(launching(how));
        const rest = await collect(
          recoverRun({ provider, agent, events, harness, subAgents, history: [], force: true }),
        );
        const where = `${events.length}: ${JSON.stringify(events.at(-1)!.payload).slice(0, 200)}`;
        const both = [...events, ...rest];
        expect(foldResponse(both).status, where).toBe('completed');
        expect(
          both.map(({ seq }) => seq),
          where,
        ).toEqual(both.map((_, index) => index));
        const done = [...before, ...effects];
        expect(done.length, `${where} ${done.join()}`).toBe(new Set(done).size);
        const unfolded = all(both);
        const started = unfolded.flatMap(({ payload }) => (payload.type === 'agent_start' ? [payload] : []));
        expect(new Set(started.map(({ key }) => key)).size, where).toBe(started.length);
        for (const { agent_run_id: id } of started) {
          const own = unfolded.filter(({ run, payload }) => run === id && payload.type === 'response_done');
          expect(own.at(-1), `${where} ${id}`).toBeDefined();
          const begun = unfolded.find(({ run, payload }) => run === id && payload.type === 'response_start');
          const files = started.find((one) => one.agent_run_id === id)!.file_keys ?? [];
          for (const key of files) if (begun) expect(JSON.stringify(begun), where).toContain(`text of ${key}`);
          const seqs = unfolded.flatMap(({ payload }) =>
            payload.type === 'agent_event' && payload.agent_run_id === id ? [payload.seq] : [],
          );
          expect(seqs, where).toEqual(seqs.map((_, index) => index));
        }
        // A call whose process ended while it ran is reported as unknown; every other one has its effect.
        const text = JSON.stringify(both);
        if (text.includes('is not known') || text.includes('"unknown"') || text.includes('process ended')) continue;
        expect(new Set(done), where).toEqual(new Set(['mark: 1', 'mark: 2', 'mark: 3', 'mark: level 1']));
        complete.push(events.length);
      }
      // The number of the others depends on the time of the calls. At the first event, no call has begun.
      expect(complete).toContain(1);
    },
    240_000,
  );
});

describe('a sub-agent that outlives its script', () => {
  it('works while later scripts of the run do, which read its answer and cancel it', async () => {
    const provider = cast({
      'Say it': () => says('it'),
      Sleep: first('await sleep(60_000);'),
      Go: (turn) =>
        [
          () =>
            runs(
              "const a = await tools.agents.launch.async({ task: 'Say it.' }); const b = await tools.agents.launch.async({ task: 'Sleep.' }); return [a.runId, b.runId];",
            ),
          () => runs('return globalThis.never;'),
          () => says('Done.'),
        ][turn]!(),
    });
    const { harness, subAgents } = world([], memoryStore());
    const events: StreamEvent[] = [];
    for await (const event of runAgent({ provider, agent, input: 'Go.', harness, subAgents })) events.push(event);
    const ends = all(events).filter(({ payload }) => payload.type === 'response_done');
    // The sleeping sub-agent ends with the run, and before the run itself.
    expect(ends.map(({ payload }) => payload.type === 'response_done' && payload.status)).toEqual([
      'completed',
      'cancelled',
      'completed',
    ]);
    expect(ends.at(-1)!.run).toBe(events[0]!.run_id);
  });

  it('is found by its runId, and only by the run that launched it', async () => {
    const provider = cast({
      'Say it': () => says('it'),
      Sleep: first('await sleep(60_000);'),
      'Look at': (turn, { conversation }) =>
        turn === 0
          ? runs(`return tools.agents.status({ runId: '${String(conversation[0]!['content']).split(' ')[2]!}' });`)
          : says('Done.'),
      Go: first(`const { runId } = await tools.agents.launch.async({ task: 'Say it.' });
        const slow = (await tools.agents.launch.async({ task: 'Sleep.' })).runId;
        const early = await tools.agents.result({ runId: slow, waitMs: 1 });
        const cancelled = await tools.agents.cancel({ runId: slow });
        const stranger = await tools.agents.launch.sync({ task: 'Look at ' + runId });
        return [(await tools.agents.result({ runId })).answer, early.status, cancelled.status, (await tools.agents.status({ runId: slow })).problem];`),
    });
    const { harness, subAgents } = world([], memoryStore());
    const events = await collect(runAgent({ provider, agent, input: 'Go.', harness, subAgents }));
    const output = foldResponse(events).output_items.find(({ type }) => type === 'script_execution_output');
    expect(JSON.parse(output!['output_json'] as string)).toEqual([
      'it',
      'running',
      'cancelled',
      expect.stringContaining('has cancelled it'),
    ]);
    expect(JSON.stringify(events)).toContain('This run has launched no sub-agent');
  });

  it('continues with its run after the run was suspended', async () => {
    const roles = {
      Sleep: first("await sleep(5); return tools.mark({ text: 'late' });"),
      Go: first(`const { runId } = await tools.agents.launch.async({ task: 'Sleep.' });
        await tools.note({ text: 'asked' });
        return (await tools.agents.result({ runId })).status;`),
    };
    const store = memoryStore();
    const effects: Effects = [];
    const begin = () => {
      const subAgents = createSubAgents();
      const approvals = {
        rules: [
          { tool: 'agents.*', action: 'approve' as const },
          { tool: 'note', action: 'ask' as const },
        ],
      };
      return { harness: open({ tools: [...tools(effects), ...subAgents.tools], approvals, store }), subAgents };
    };
    const events = await collect(runAgent({ provider: cast(roles), agent, input: 'Go.', ...begin() }));
    const done = events.at(-1)!.payload;
    if (done.type !== 'response_done' || done.status !== 'suspended') expect.fail(JSON.stringify(done));
    const decisions = Object.fromEntries(done.approval_ids!.map((id) => [id, 'approve' as const]));
    const rest = await collect(resumeRun({ provider: cast(roles), agent, events, decisions, ...begin() }));
    const output = foldResponse([...events, ...rest]).output_items.find(
      ({ type }) => type === 'script_execution_output',
    );
    expect(output).toMatchObject({ output_json: '"completed"' });
    expect(effects.toSorted()).toEqual(['mark: late', 'script: asked']);
  });
});

describe('a sub-agent whose call waits for a decision', () => {
  const roles = {
    'Leaf 1': first("return tools.note({ text: '1' });"),
    'Leaf 2': first("await tools.mark({ text: '2' }); return tools.note({ text: '2' });"),
    'Leaf 3': first("return tools.mark({ text: '3' });"),
    'Level 1': first(
      `const all = await Promise.all([1, 2, 3].map((n) => tools.agents.launch.sync({ task: 'Leaf ' + n })));
       await tools.mark({ text: 'level 1' });
       return all.map(({ status }) => status);`,
    ),
    Go: first("return (await tools.agents.launch.sync({ task: 'Level 1' })).status;"),
  };

  function begin(effects: Effects, store: HarnessStore) {
    const subAgents = createSubAgents({ waitsForDecisions: true });
    const approvals = {
      rules: [
        { tool: 'agents.*', action: 'approve' as const },
        { tool: 'note', action: 'ask' as const },
      ],
    };
    return { harness: open({ tools: [...tools(effects), ...subAgents.tools], approvals, store }), subAgents, agent };
  }

  const endOf = (events: readonly StreamEvent[]) => {
    const done = events.at(-1)!.payload;
    if (done.type !== 'response_done') expect.fail(JSON.stringify(done));
    return done;
  };

  it('suspends its run, and continues with it after the decisions: each effect happens once', async () => {
    const store = memoryStore();
    const effects: Effects = [];
    const events = await collect(runAgent({ provider: cast(roles), input: 'Go.', ...begin(effects, store) }));
    const done = endOf(events);
    expect(done).toMatchObject({ status: 'suspended', in_sub_agents: true });
    expect(done.approval_ids).toHaveLength(2);
    expect(effects.toSorted()).toEqual(['mark: 2', 'mark: 3']);
    const asked = all(events).flatMap(({ payload }) =>
      payload.type === 'approval_requested' ? [payload.approval] : [],
    );
    expect(asked.map(({ agents }) => agents)).toEqual([
      ['root', 'root'],
      ['root', 'root'],
    ]);
    const [first_, second] = done.approval_ids!;
    // One decision: the run is suspended again, for the other one.
    const more = await collect(
      resumeRun({ provider: cast(roles), events, decisions: { [first_!]: 'approve' }, ...begin(effects, store) }),
    );
    expect(endOf(more)).toMatchObject({ status: 'suspended', approval_ids: [second] });
    const rest = await collect(
      resumeRun({
        provider: cast(roles),
        events: [...events, ...more],
        decisions: { [second!]: 'deny' },
        ...begin(effects, store),
      }),
    );
    const whole = [...events, ...more, ...rest];
    expect(endOf(whole).status).toBe('completed');
    expect(whole.map(({ seq }) => seq)).toEqual(whole.map((_, index) => index));
    expect(effects.filter((effect) => effect.startsWith('mark')).toSorted()).toEqual([
      'mark: 2',
      'mark: 3',
      'mark: level 1',
    ]);
    expect(effects.filter((effect) => effect.startsWith('script'))).toHaveLength(1);
    const started = all(whole).filter(({ payload }) => payload.type === 'agent_start');
    expect(started).toHaveLength(4);
    const outputs = foldResponse(whole).output_items.filter(({ type }) => type === 'script_execution_output');
    expect(outputs).toMatchObject([{ output_json: '"completed"' }]);
  });

  it('ends when its run is cancelled, and leaves no suspended script in the store', async () => {
    const store = memoryStore();
    const events = await collect(runAgent({ provider: cast(roles), input: 'Go.', ...begin([], store) }));
    const signal = AbortSignal.abort();
    const rest = await collect(resumeRun({ provider: cast(roles), events, signal, ...begin([], store) }));
    expect(endOf(rest).status).toBe('cancelled');
    const { scripts } = await store.journal.list();
    expect(scripts.map(({ state }) => state)).not.toContain('suspended');
    expect(scripts).not.toEqual([]);
  });
});
