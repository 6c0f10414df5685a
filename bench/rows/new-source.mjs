import assert from 'node:assert/strict';
import { createHarness, defineTool } from '@toolscript/core';
import { z } from 'zod';
import { alternate, timeRuns } from '../measure.mjs';
import { FILES, fiftyLines, summaryOf } from './fifty-lines.mjs';

export const name = 'new-source';

/** A script of 50 lines that was never seen before, from the model's text to its outcome. */
export async function measure({ effort }) {
  const harness = createHarness({ tools: fileTools() });
  try {
    await harness.warm();
    let variant = 0;
    const block = async () => {
      const samples = [];
      const began = performance.now();
      while (performance.now() - began < effort.blockMs) {
        const next = ++variant;
        samples.push(...(await timeRuns(() => runAnswer(harness, next), summaryOf(next), { forMs: 0 })));
      }
      return samples;
    };
    for (let warm = 0; warm < effort.warmMs; warm += effort.blockMs) await block();
    const row = {
      name: 'new-source',
      title: '50 lines never seen before: detect, parse, lint, type-check, strip, run',
      unit: 'ms',
      better: 'lower',
      limit: 6,
      notes: ['the script makes 8 tool calls; the time runs from the first byte of the answer to response_done'],
    };
    return [await alternate(row, [{ name: 'toolscript', role: 'ours', block }], effort.rounds)];
  } finally {
    await harness.close();
  }
}

async function runAnswer(harness, variant) {
  let value;
  const answer = `Let me look.\n\n<tool-calls>\n${fiftyLines(variant)}</tool-calls>\n`;
  for await (const { payload } of harness.processText(answer)) {
    if (payload.type !== 'item_done' || payload.final_item.type !== 'script_execution_output') continue;
    assert.equal(payload.final_item.error, undefined, JSON.stringify(payload.final_item.error));
    value = JSON.parse(payload.final_item.output_json);
  }
  return value;
}

function fileTools() {
  const read = { approval: 'never', effect: 'read' };
  return [
    defineTool({
      ...read,
      name: 'listDir',
      description: 'Names in a folder.',
      input: z.object({ path: z.string() }),
      execute: () => ({ names: Object.keys(FILES) }),
    }),
    defineTool({
      ...read,
      name: 'readFile',
      description: 'The lines of a file.',
      input: z.object({ path: z.string(), limit: z.number() }),
      execute: ({ path }) => ({ lines: FILES[path.split('/').at(-1)] }),
    }),
    defineTool({
      ...read,
      name: 'fileSearch',
      description: 'Finds files.',
      input: z.object({ query: z.string() }),
      execute: ({ query }) => ({ files: [`${query}.ts`] }),
    }),
  ];
}
