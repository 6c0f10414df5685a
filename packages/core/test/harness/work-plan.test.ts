import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '#core/index.js';
import { foldResponse } from '#core/history/index.js';
import type { StreamEvent } from '#core/protocol/index.js';
import { openHarness } from './open-harness.js';

const step = z.object({ step: z.string(), status: z.string() });
const plan = defineTool({
  name: 'tellPlan',
  description: 'Tells the plan',
  effect: 'read',
  input: z.object({ plan: z.array(step), explanation: z.string().optional() }),
  shows: 'plan',
  execute: (input) => input,
});
const readPlan = defineTool({
  name: 'readPlan',
  description: 'Reads a plan without showing it',
  effect: 'read',
  input: z.object({}),
  execute: () => ({ plan: [{ step: 'look', status: 'completed' }] }),
});

async function play(body: string): Promise<StreamEvent[]> {
  const harness = openHarness({ tools: [plan, readPlan], typecheck: 'off' });
  const events: StreamEvent[] = [];
  for await (const event of harness.processText(`<tool-calls>\n${body}\n</tool-calls>`)) events.push(event);
  return events;
}

const plansOf = (events: StreamEvent[]) => foldResponse(events).output_items.filter(({ type }) => type === 'plan');

it('the plan of a tool is one item of the response, in its newest form', async () => {
  const events = await play(`
    await tools.tellPlan({ plan: [{ step: 'look', status: 'in_progress' }, { step: 'mend', status: 'pending' }], explanation: 'first idea' });
    await tools.tellPlan({ plan: [{ step: 'look', status: 'completed' }, { step: 'mend', status: 'in_progress' }] });`);
  expect(plansOf(events)).toMatchObject([
    {
      explanation: '',
      steps: [
        { step: 'look', status: 'completed' },
        { step: 'mend', status: 'in_progress' },
      ],
      call_id: expect.stringMatching(/_call_1$/u),
    },
  ]);
});

it('the result of a tool that does not show a plan creates no item', async () => {
  const events = await play(`return (await tools.readPlan({})).plan.length`);
  expect(events.map(({ payload }) => payload.type)).toContain('tool_call_done');
  expect(plansOf(events)).toEqual([]);
});

it('a result that is not a plan creates no item', async () => {
  expect(plansOf(await play(`await tools.tellPlan({ plan: [{ step: 'x', status: 'someday' }] })`))).toEqual([]);
});

it('a structured call shows its plan too, and a tool must show a known kind', async () => {
  const events: StreamEvent[] = [];
  const harness = openHarness({ tools: [plan], onEvent: (event) => events.push(event) });
  await harness.callTool('tellPlan', { plan: [{ step: 'a', status: 'pending' }] });
  expect(plansOf(events)).toMatchObject([{ steps: [{ step: 'a', status: 'pending' }] }]);
  expect(() => defineTool({ ...plan, inputSchema: {}, outputSchema: undefined, shows: 'map' } as never)).toThrow();
});
