import { describe, expect, test } from 'vitest';
import type { AgentInput } from '#core/agent/index.js';
import type { Scenario } from '#core/providers/index.js';
import { APIS, essences, openScene, openWorld, play } from './running.js';
import { itemsOf, responseOf } from '../providers/decoded.js';
import { streamOf } from '../providers/wire-text.js';

/* Calls that a service runs itself, and that its answer shows like calls of the client's tools. */

type Turn = Extract<Scenario['turns'][number], { parts: unknown }>;

const AGENT: Partial<AgentInput> = { carrier: 'tool', functions: 'all' };
const search: Turn['parts'][number] = { type: 'call', name: 'x_keyword_search', arguments: { query: 'weather' } };
const text = (said: string): Turn['parts'][number] => ({ type: 'text', text: said });

describe.each(APIS)('%s', (api) => {
  test('a call of an unknown tool before the text of its answer is of the service: no result, no further request', async () => {
    const world = openWorld();
    const scene = await openScene(api, [
      { parts: [search, text('It rains.')] },
      { parts: [text('You are welcome.')], changes_prefix: true },
    ]);
    const first = await play(world, scene, AGENT, { threadId: 'thr_1' });
    expect([first.response.status, scene.server.requests.length]).toEqual(['completed', 1]);
    expect(essences(first.history)).toEqual(['user: Do it.', 'call x_keyword_search', 'assistant: It rains.']);
    const second = await play(world, scene, AGENT, { threadId: 'thr_1', history: first.history, input: 'Thanks.' });
    expect(scene.server.violations).toEqual([]);
    expect(second.response.status).toBe('completed');
    expect(JSON.stringify(scene.server.requests[1])).not.toContain('x_keyword_search');
  });

  test('a call of an unknown tool at the end of its answer gets a result that says so', async () => {
    const world = openWorld();
    const scene = await openScene(api, [
      { parts: [text('I search.'), search] },
      { parts: [text('I cannot.')], expect: ['There is no tool'] },
    ]);
    const { response } = await play(world, scene, AGENT);
    expect([response.status, scene.server.violations]).toEqual(['completed', []]);
  });

  test('a call of a known tool runs, also before text', async () => {
    const world = openWorld();
    const scene = await openScene(api, [
      { parts: [search, { type: 'call', name: 'add', arguments: { a: 2, b: 3 } }, text('Both.')] },
      { parts: [text('Five.')], expect: ['5'], changes_prefix: true },
    ]);
    const { response } = await play(world, scene, AGENT);
    expect([response.status, world.calls]).toEqual(['completed', ['add {"a":2,"b":3}']]);
  });
});

test.each(['x_search_call', 'code_execution_call', 'view_image_call', 'view_x_video_call'])(
  'Responses: the item %s is a call of the service',
  async (type) => {
    const item = { type, id: 'i_1', call_id: 'call_1', name: 'x_keyword_search', arguments: '{}', status: 'completed' };
    const response = await responseOf(
      'openai-responses',
      streamOf(
        { type: 'response.created', response: { id: 'resp_1' } },
        { type: 'response.output_item.added', output_index: 0, item },
        { type: 'response.output_item.done', output_index: 0, item },
        { type: 'response.completed', response: { id: 'resp_1', status: 'completed', output: [item] } },
      ),
    );
    expect([response.status, itemsOf(response, 'function_call')]).toEqual(['completed', []]);
    expect(itemsOf(response, 'reasoning')).toMatchObject([{ native: item }]);
  },
);
