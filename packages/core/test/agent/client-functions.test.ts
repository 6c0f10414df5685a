import { describe, expect, test } from 'vitest';
import { recoverRun, resumeAgent, type AgentInput } from '#core/agent/index.js';
import type { Scenario } from '#core/providers/index.js';
import type { FunctionTool, OutputItem } from '#core/protocol/index.js';
import { APIS, collectRun, essences, expectClean, openScene, openWorld, play, type Played } from './running.js';

const WEATHER: FunctionTool = {
  type: 'function',
  name: 'get_weather',
  description: 'The weather at a place.',
  inputSchema: { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] },
};

const clientFunctions = [WEATHER];
const ask = (call_id: string, place = 'Oslo') =>
  ({ type: 'call', name: 'get_weather', arguments: { place }, call_id }) as const;
const say = (text: string, expected: string[]): Scenario['turns'][number] => ({
  parts: [{ type: 'text', text }],
  expect: expected,
});

function outputFor(call_id: string, output: string): OutputItem {
  return { type: 'function_call_output', id: `output_${call_id}`, call_id, output, success: true };
}

const callsIn = ({ response }: Played) => response.output_items.filter((item) => item.type === 'function_call');
const outputsIn = ({ history }: Played) => history.filter((item) => item.type === 'function_call_output');

const CARRIERS: Partial<AgentInput>[] = [{ carrier: 'tool' }, { carrier: 'custom' }, { carrier: 'text' }];

describe.each(APIS)('%s', (api) => {
  test.each(CARRIERS)(
    'a call to a client function ends the run, and the next input has its output: %o',
    async (agent) => {
      const world = openWorld();
      const scene = await openScene(api, [
        { parts: [{ type: 'text', text: 'I look.' }, ask('call_1')] },
        say('Snow.', ['-3 degrees']),
      ]);
      const first = await play(world, scene, agent, { clientFunctions });
      expect(first.response.status).toBe('completed');
      expect(callsIn(first)).toMatchObject([{ name: 'get_weather', arguments: '{"place":"Oslo"}' }]);
      expect(outputsIn(first)).toEqual([]);
      const { history } = first;
      const input = [outputFor(callsIn(first)[0]!.call_id, '-3 degrees')];
      const second = await play(world, scene, agent, { clientFunctions, history, input });
      expect(second.response.status).toBe('completed');
      expect(outputsIn(second)).toHaveLength(1);
      expect(essences(second.history).at(-1)).toBe('assistant: Snow.');
      expectClean(scene);
    },
  );

  test('scripts and calls of other tools in the same answer run, and the run ends after them', async () => {
    const world = openWorld();
    const scene = await openScene(api, [
      {
        parts: [
          ask('call_1'),
          { type: 'script', code: "return await tools.note({ text: 'seen' });" },
          { type: 'call', name: 'add', arguments: { a: 1, b: 2 } },
        ],
      },
      say('Done.', ['rain', '"sum":3']),
    ]);
    const agent = { functions: 'all' } as const;
    const first = await play(world, scene, agent, { clientFunctions });
    expect(first.response.status).toBe('completed');
    expect(world.calls).toEqual(['note {"text":"seen"}', 'add {"a":1,"b":2}']);
    const { history } = first;
    await play(world, scene, agent, { clientFunctions, history, input: [outputFor('call_1', 'rain')] });
    expectClean(scene);
  });

  test('a prompt in place of the output closes the call, and the model reads that it was not made', async () => {
    const world = openWorld();
    const scene = await openScene(api, [{ parts: [ask('call_1')] }, say('As you like.', ['did not run'])]);
    const { history } = await play(world, scene, {}, { clientFunctions });
    const second = await play(world, scene, {}, { clientFunctions, history, input: 'Forget it.' });
    expect(outputsIn(second)).toMatchObject([{ success: false }]);
    expectClean(scene);
  });

  test('only the first answer of a run gets a required tool', async () => {
    const world = openWorld();
    const scene = await openScene(api, [
      { parts: [{ type: 'script', code: 'return 1;' }] },
      { parts: [{ type: 'text', text: 'One.' }] },
    ]);
    await play(world, scene, {}, { clientFunctions, toolChoice: { name: 'get_weather' }, parallelToolCalls: false });
    const choices = scene.server.requests.map((body) =>
      JSON.stringify((body as { tool_choice?: unknown }).tool_choice),
    );
    expect(choices[0]).toContain('get_weather');
    expect(choices[1] ?? '').not.toContain('get_weather');
  });
});

test('a script that waits for a decision suspends the run; after it, the run ends for the client’s call', async () => {
  const world = openWorld();
  const scene = await openScene('openai-responses', [
    { parts: [ask('call_1'), { type: 'script', code: "return await tools.guarded({ text: 'x' });" }] },
    say('Both.', ['rain', 'done']),
  ]);
  const first = await play(world, scene, {}, { clientFunctions });
  expect(first.response.status).toBe('suspended');
  const done = first.events.at(-1)!.payload as { script_id: string; approval_ids: string[] };
  const resumed = await collectRun(
    resumeAgent({
      provider: scene.provider,
      harness: world.harness,
      agent: { slug: 'tester' },
      clientFunctions,
      history: first.history,
      suspension: done.script_id,
      decisions: { [done.approval_ids[0]!]: 'approve' },
    }),
    first.history,
  );
  expect(resumed.response.status).toBe('completed');
  expect(world.calls).toEqual(['guarded {"text":"x"}']);
  const input = [outputFor('call_1', 'rain')];
  await play(world, scene, {}, { clientFunctions, history: resumed.history, input });
  expect(scene.server.violations).toEqual([]);
  expect(scene.server.turnsLeft).toBe(0);
});

test('a recovered run whose process ended after a client’s call ends for that call', async () => {
  const world = openWorld();
  const scene = await openScene('openai-responses', [{ parts: [ask('call_1')] }]);
  const whole = await play(world, scene, {}, { clientFunctions });
  const events = whole.events.slice(0, -1);
  const options = { provider: scene.provider, harness: world.harness, agent: { slug: 'tester' }, clientFunctions };
  const recovered = await collectRun(recoverRun({ ...options, events }), [], events.length);
  expect(recovered.response.status).toBe('completed');
  expect(recovered.response.output_items.filter(({ type }) => type === 'function_call_output')).toEqual([]);
});

test('a client function replaces a harness tool of the same name, and the name run_script is reserved', async () => {
  const world = openWorld();
  const scene = await openScene('openai-responses', [
    { parts: [{ type: 'call', name: 'add_2', arguments: { a: 1, b: 2 } }, ask('call_1')] },
  ]);
  const named = { ...WEATHER, name: 'add' };
  const { response } = await play(world, scene, { functions: 'all' }, { clientFunctions: [named, WEATHER] });
  expect(response.status).toBe('completed');
  expect(world.calls).toEqual(['add {"a":1,"b":2}']);
  const taken = [{ ...WEATHER, name: 'run_script' }];
  await expect(play(world, scene, {}, { clientFunctions: taken })).rejects.toThrow('"run_script" is taken');
  await expect(play(world, scene, {}, { clientFunctions: [WEATHER, WEATHER] })).rejects.toThrow('is taken');
});
