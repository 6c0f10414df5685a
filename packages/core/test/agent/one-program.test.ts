import { describe, expect, it, onTestFinished } from 'vitest';
import { createSubAgents, resumeAgent, runAgent } from '#core/agent/index.js';
import { createHarness, memoryStore } from '#core/index.js';
import { foldResponse, programScope } from '#core/history/index.js';
import { subAgentEvent } from '#core/protocol/run-events.js';
import type { OutputItem } from '#core/protocol/index.js';
import type { Scenario } from '#core/providers/index.js';
import { tools } from '../suspension/world.js';
import { cast, collect, runs, says } from './cast.js';
import { collectRun, openScene, openWorld, play, type World } from './running.js';

type Part = Extract<Scenario['turns'][number], { parts: unknown[] }>['parts'][number];
const script = (code: string): Part => ({ type: 'script', code });
const text = (said: string): Part => ({ type: 'text', text: said });

const openProgram = (): World & { store: ReturnType<typeof memoryStore> } => {
  const store = memoryStore();
  return { ...openWorld({ scripts: 'one-program', store, alone: true }), store };
};

/** Plays the scripts, each in an answer of its own, in one run of the thread. */
async function playScripts(
  world: World,
  codes: readonly string[],
  { threadId = 'thr_1', history = [] }: { threadId?: string; history?: readonly OutputItem[] } = {},
) {
  const turns = [...codes.map((code) => ({ parts: [script(code)] })), { parts: [text('Done.')] }];
  const scene = await openScene('openai-responses', turns);
  const played = await play(world, scene, {}, { threadId, history });
  expect(scene.server.violations).toEqual([]);
  return { ...played, scene, values: valuesOf(played.history.slice(history.length)) };
}

/** The values of the scripts, or the codes of their failures. */
function valuesOf(items: readonly OutputItem[]): unknown[] {
  return items.flatMap((item) =>
    item.type === 'script_execution_output' ? [item.status === 'failed' ? item.error?.code : item.result] : [],
  );
}

const reportsOf = (items: readonly OutputItem[]): string[] =>
  items.flatMap((item) => (item.type === 'script_execution_output' ? [item.report ?? ''] : []));

describe('the scripts of an agent in one program', () => {
  it('use the variables of the scripts before them, in later runs of the conversation too', async () => {
    const world = openProgram();
    const first = await playScripts(world, ['let count = 1;\nreturn count', 'count += 1; return count']);
    expect(first.values).toEqual([1, 2]);
    const second = await playScripts(world, ['return count + 1'], { history: first.history });
    expect(second.values).toEqual([3]);
    expect(programScope(second.history).scope.map(({ name }) => name)).toEqual(['count']);
  });

  it('report what is in scope to the model, each name once', async () => {
    const { history } = await playScripts(openProgram(), [
      'const rows = [1, 2];\nfunction total() { return rows.length }\nreturn 0',
      'return total()',
    ]);
    const [first, second] = reportsOf(history);
    expect(first).toMatch(/In scope for your next script: .*rows.*total/u);
    expect(second).not.toContain('In scope');
  });

  it('continue in a branch from the variables of its items, and the branches do not meet', async () => {
    const world = openProgram();
    const whole = await playScripts(world, ['let n = 1;\nreturn n', 'n = 10; return n']);
    const at = whole.history.findIndex(({ type }) => type === 'script_execution_output');
    const earlier = whole.history.slice(0, at + 1);
    const branch = await playScripts(world, ['n += 1; return n'], { threadId: 'thr_branch', history: earlier });
    expect(branch.values).toEqual([2]);
    expect((await playScripts(world, ['return n'], { history: whole.history })).values).toEqual([10]);
    const again = await playScripts(world, ['return n'], { threadId: 'thr_branch', history: branch.history });
    expect(again.values).toEqual([2]);
  });

  it('keep their variables over an approval', async () => {
    const world = openProgram();
    const codes = [
      'let said = "a";\nreturn said',
      'said += "b"; await tools.guarded({ text: said }); said += "c"; return said',
    ];
    const suspended = await playScripts(world, codes);
    expect(suspended.response.status).toBe('suspended');
    const { payload } = suspended.events.at(-1)!;
    const [scriptId = '', ids = []] = payload.type === 'response_done' ? [payload.script_id, payload.approval_ids] : [];
    const scene = await openScene('openai-responses', [{ parts: [script('return said')] }, { parts: [text('Done.')] }]);
    const resumed = await collectRun(
      resumeAgent({
        provider: scene.provider,
        harness: world.harness,
        agent: { slug: 'tester' },
        threadId: 'thr_1',
        history: suspended.history,
        suspension: scriptId,
        decisions: Object.fromEntries(ids.map((id) => [id, 'approve' as const])),
      }),
      suspended.history,
    );
    expect(valuesOf(resumed.history)).toEqual(['a', 'abc', 'abc']);
  });

  it('that ran side by side keep the variables of one, and the model of the other reads it', async () => {
    const world = openProgram();
    const { history } = await playScripts(world, ['let n = 0;\nreturn n']);
    const both = await Promise.all(
      [1, 2].map((by) => playScripts(world, [`n += ${by}; return n`, 'return n'], { history })),
    );
    const after = await Promise.all(both.map((one) => playScripts(world, ['return n'], { history: one.history })));
    expect(both.flatMap(({ values }) => values[0])).toEqual([1, 2]);
    const losers = both.filter((one) => reportsOf(one.history).some((report) => report.includes('variables-lost')));
    expect(losers.length).toBeGreaterThan(0);
    const ends = after.map(({ values }) => values[0]);
    expect([1, 2, 3]).toContain(ends[0]);
    expect(ends[0]).toBe(ends[1]);
  });

  it('begin anew after their heap was deleted, and the model reads it', async () => {
    const world = openProgram();
    const { history } = await playScripts(world, ['let n = 1;\nreturn n']);
    await world.store.heaps!.deleteThread('thr_1');
    const later = await playScripts(world, ['return n', 'let m = 2;\nreturn m', 'return m'], { history });
    expect(later.values).toEqual(['HeapNotFoundError', 2, 2]);
  });

  it('are all named once after a summary of the conversation', async () => {
    const world = openProgram();
    const usage = (tokens: number) => ({ input_tokens: tokens, output_tokens: 10 });
    const scene = await openScene('openai-responses', [
      { parts: [script('const first = 1;\nreturn first')], usage: usage(100) },
      { parts: [script('const second = "2";\nreturn second')], usage: usage(1_900) },
      { parts: [text('So far.')], expect: ['has grown too long'] },
      { begins_anew: true, expect: ['So far.'], parts: [script('return first + second')], usage: usage(100) },
      { parts: [text('Done.')], usage: usage(100) },
    ]);
    const { history } = await play(world, scene, { contextWindow: 2_000 });
    expect(scene.server.violations).toEqual([]);
    expect(valuesOf(history)).toEqual([1, '2', '12']);
    const request = JSON.stringify(scene.server.requests.at(-1));
    expect(request.match(/In scope for your next script/gu)).toHaveLength(1);
    expect(request).toMatch(/In scope for your next script: first: [^"]*, second: /u);
  });

  it('of an agent in another harness share nothing', async () => {
    const { values } = await playScripts(openWorld(), ['let n = 1;\nreturn n', 'return typeof n']);
    expect(values).toEqual([1, 'undefined']);
  });
});

describe('the scripts of a sub-agent', () => {
  it('have a program of their own, and those of its parent keep theirs', async () => {
    const store = memoryStore();
    const subAgents = createSubAgents({});
    const launch = 'const done = await tools.agents.launch.sync({ task: "child" });\nn += 1; return [n, done]';
    const root = [runs('let n = 1;\nreturn n'), runs(launch), runs('return n'), says('Done.')];
    const child = [runs('let n = 100;\nreturn n'), runs('n += 1; return n'), says('Finished.')];
    const provider = cast({ root: (turn) => root[turn]!, child: (turn) => child[turn]! });
    const shared = { approvals: 'auto', scripts: 'one-program', typecheck: 'off' } as const;
    const harness = createHarness({ tools: [...tools([]), ...subAgents.tools], store, ...shared });
    onTestFinished(() => harness.close());
    const agent = { slug: 'root', carrier: 'tool' as const };
    const events = await collect(runAgent({ provider, harness, agent, input: 'root', subAgents, threadId: 'thr_1' }));
    const values = valuesOf(foldResponse(events).output_items);
    expect([values[0], (values[1] as unknown[])[0], values[2]]).toEqual([1, 2, 2]);
    const ofChild = events.flatMap((event) => subAgentEvent(event)?.payload ?? []);
    const outputs = ofChild.flatMap((payload) => (payload.type === 'item_done' ? payload.final_item : []));
    expect(valuesOf(outputs)).toEqual([100, 101]);
    expect(await store.heaps!.newest('', 'thr_1')).toMatchObject({ heapId: expect.stringContaining('heap_') });
  });
});
