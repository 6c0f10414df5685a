import { createHarness, defineTool } from '@toolscript/core';
import { EventEnvelopes } from '@toolscript/core/ports';
import type { Run } from '@toolscript/core/protocol';
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { RunMetrics } from '#server/observability/run-metrics.js';

const RUN = { runId: 'run_1', threadId: 'thr_1', turnId: 'turn_1', reason: 'new' } as Run;

/** The tools that are labels after calls of these, in a run whose harness has those. */
async function labelsOf(called: readonly string[], known: readonly string[]): Promise<string[]> {
  const registry = new Registry();
  const observer = new RunMetrics(registry).observe(RUN, []);
  const tools = known.map((name) =>
    defineTool({ name, description: name, input: z.object({}), effect: 'read', approval: 'never', execute: () => 1 }),
  );
  const harness = createHarness({ tools, typecheck: 'off' });
  observer.agentOpened({ harness } as never);
  const envelopes = new EventEnvelopes(RUN);
  const call = {
    call_id: 'c',
    input: {},
    effect: 'read',
    status: 'completed',
    started_at_ms: 0,
    duration_ms: 1,
  } as const;
  for (const tool of called)
    observer.event(envelopes.next({ type: 'tool_call_done', call_id: 'c', operation: { ...call, tool } }));
  await harness.close();
  const text = await registry.getSingleMetricAsString('toolscript_tool_duration_seconds');
  return [...text.matchAll(/_count\{tool="([^"]*)"/gu)].map(([, tool]) => tool!);
}

it('uses only tools of the run as labels', async () => {
  expect(await labelsOf(['mine', 'made-up'], ['mine', 'unused'])).toEqual(['mine', 'other']);
});

it('uses at most 200 tools as labels, and one label for all others', async () => {
  const names = Array.from({ length: 202 }, (_, index) => `tool${index}`);
  expect(await labelsOf(names, names)).toEqual([...names.slice(0, 200), 'other']);
});
