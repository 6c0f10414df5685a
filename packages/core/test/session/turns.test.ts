import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '#core/tools/index.js';
import { openHarness, valueOf } from '../harness/open-harness.js';

const CALLS = 30;

/** Blocks the event loop, as the validation of large arguments does. */
function compute(ms: number): true {
  for (const until = performance.now() + ms; performance.now() < until;);
  return true;
}

describe('the calls of one segment', () => {
  it('are started over several turns of the event loop, so that many calls do not block the host', async () => {
    let checked = 0;
    let checkedWhenHostHadItsTurn = -1;
    const slow = defineTool({
      name: 'slow',
      description: 'Has arguments that take long to check',
      effect: 'read',
      input: z.object({ n: z.number() }).refine(() => {
        if (checked++ === 0) setImmediate(() => (checkedWhenHostHadItsTurn = checked));
        return compute(3);
      }),
      execute: ({ n }) => n,
    });
    const harness = openHarness({ tools: [slow], typecheck: 'off', limits: { maxToolCalls: CALLS } });
    const source = `return (await Promise.all(Array.from({ length: ${CALLS} }, (_, n) => tools.slow({ n })))).length`;
    expect(valueOf(await harness.runScript(source))).toBe(CALLS);
    expect(checked).toBe(CALLS);
    expect(checkedWhenHostHadItsTurn).toBeGreaterThan(0);
    expect(checkedWhenHostHadItsTurn).toBeLessThan(CALLS);
  });
});
