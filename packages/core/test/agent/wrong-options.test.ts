import { describe, expect, it, test } from 'vitest';
import { recoverRun, resumeAgent, resumeRun, runAgent } from '#core/agent/index.js';
import { ToolscriptUsageError } from '#core/index.js';
import { scriptedModel } from '#core/providers/index.js';
import type { ModelProvider, StreamEvent } from '#core/protocol/index.js';
import { APIS, expectClean, openScene, openWorld, play } from './running.js';

const agent = { slug: 'tester' };

/** A model that counts its requests. */
function countingModel() {
  const model = scriptedModel({ turns: [{ parts: [{ type: 'text', text: 'Hi.' }] }] });
  const asked = { times: 0 };
  const provider: ModelProvider = {
    api: model.api,
    model: model.model,
    capabilities: model.capabilities,
    stream: (request, options) => {
      asked.times += 1;
      return model.stream(request, options);
    },
  };
  return { provider, asked };
}

async function collect(stream: AsyncIterable<StreamEvent>): Promise<StreamEvent[]> {
  const events: StreamEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

/** The events of a run without an end. */
const EVENTS = [
  {
    event_id: 'evt_1',
    run_id: 'run_1',
    thread_id: 'thr_1',
    turn_id: 'turn_1',
    seq: 0,
    timestamp: '2026-01-01T00:00:00.000Z',
    payload: { type: 'response_start' },
  },
] as unknown as StreamEvent[];

describe('a harness that is closed', () => {
  it('rejects every kind of run at once, without a request to the model', async () => {
    const { harness } = openWorld({ alone: true });
    await harness.close();
    const { provider, asked } = countingModel();
    const options = { provider, harness, agent };
    const refusal = new ToolscriptUsageError('HARNESS_CLOSED');
    expect(() => runAgent({ ...options, input: 'Go.' })).toThrow(refusal);
    expect(() => resumeAgent({ ...options, suspension: 'scr_1' })).toThrow(refusal);
    expect(() => recoverRun({ ...options, events: EVENTS })).toThrow(refusal);
    expect(asked.times).toBe(0);
  });

  it('gets no further request if it is closed after the run was created', async () => {
    const { harness } = openWorld({ alone: true });
    const { provider, asked } = countingModel();
    const run = runAgent({ provider, harness, agent, input: 'Go.' });
    await harness.close();
    await expect(collect(run)).rejects.toThrow('This harness is closed.');
    expect(asked.times).toBe(0);
  });
});

describe('a host in JavaScript', () => {
  const { provider } = countingModel();
  const runs = { runAgent, resumeAgent, resumeRun, recoverRun } as unknown as Record<
    string,
    (options: unknown) => void
  >;

  it.each(Object.keys(runs))('gets one sentence about the option that %s lacks', (name) => {
    const { harness } = openWorld();
    const all = { provider, harness, agent, input: 'Go.', suspension: 'scr_1', events: EVENTS };
    const messageOf = (options: unknown): string => {
      try {
        runs[name]!(options);
      } catch (error) {
        expect(error).toBeInstanceOf(ToolscriptUsageError);
        return (error as Error).message;
      }
      return 'nothing was refused';
    };
    expect(messageOf(null)).toBe(`${name} needs its options as an object.`);
    expect(messageOf({ ...all, provider: undefined })).toContain(`${name}: provider must be`);
    expect(messageOf({ ...all, harness: {} })).toContain(`${name}: harness must be`);
    expect(messageOf({ ...all, history: null })).toBe(`${name}: history must be a list of items.`);
    if (!name.endsWith('Run')) return;
    for (const events of [null, undefined, 'all of them', {}])
      expect(messageOf({ ...all, events })).toBe(`${name}: events must be the list of all stored events of the run.`);
  });
});

test.each(APIS)('%s: a call with empty arguments is sent back to the scripted model in a valid form', async (api) => {
  const world = openWorld();
  const scene = await openScene(api, [
    { parts: [{ type: 'call', name: 'shot', arguments: '' }] },
    { parts: [{ type: 'text', text: 'Seen.' }] },
  ]);
  const { response } = await play(world, scene, { functions: ['shot'] } as object);
  expect(response.status).toBe('completed');
  expect(world.calls).toEqual(['shot {}']);
  expectClean(scene);
});
