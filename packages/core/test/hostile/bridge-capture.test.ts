import { describe, expect, it } from 'vitest';
import { openHarness, valueOf } from '../harness/open-harness.js';
import { sampleTools } from '../harness/sample-tools.js';

const SITES = 24;
const TURNS = SITES * 200;

/**
 * Fills the heap to the last small block and calls a tool from many places. It frees a block from time to time, so that
 * an allocation in the middle of the bridge fails.
 */
function callInFullHeap(callee: string, afterwards: string): string {
  const sites = Array.from({ length: SITES }, (_, site) => `() => ${callee}({ a: ${site} })`);
  return `
    ${callee === 'add' ? 'const add = tools.add;' : ''}
    const sites = [${sites.join(', ')}];
    const hoard = new Array(300000).fill(null);
    const pending = new Array(${TURNS}).fill(null);
    let held = 0, made = 0;
    for (let size = 1 << 20; size >= 64; size >>= 1) {
      try { for (;;) hoard[held] = new ArrayBuffer(size), held++; } catch {}
    }
    try { for (;;) hoard[held] = 'x' + held, held++; } catch {}
    for (let turn = 0; turn < ${TURNS}; turn++) {
      if (turn % ${SITES} === 0 && held > 0) hoard[--held] = null;
      try { pending[made] = sites[turn % ${SITES}](); made++; } catch {}
    }
    hoard.length = 0;
    ${afterwards}`;
}

describe('a full heap', () => {
  it('leaves no mode in which traces are not text', async () => {
    const harness = openHarness({
      tools: sampleTools().tools,
      approvals: 'auto',
      limits: { maxToolCalls: 2_000, memoryMb: 8 },
    });
    const source = callInFullHeap(
      'add',
      `const { stack } = new Error('x');
       await Promise.allSettled(pending);
       return typeof stack;`,
    );
    expect(valueOf(await harness.runScript(source))).toBe('string');
  });

  it('does not remove a tool permanently if it occurs while the tools are first read', async () => {
    const harness = openHarness({
      tools: sampleTools().tools,
      approvals: 'auto',
      limits: { maxToolCalls: 9_999, memoryMb: 8 },
    });
    const source = callInFullHeap(
      'tools.add',
      `await Promise.allSettled(pending);
       return await tools.add({ a: 2, b: 3 });`,
    );
    expect(valueOf(await harness.runScript(source))).toEqual({ sum: 5 });
  });

  it('lets every call run, or report that its arguments could not be serialised', async () => {
    const sample = sampleTools();
    const harness = openHarness({
      tools: sample.tools,
      approvals: 'auto',
      limits: { maxToolCalls: 9_999, memoryMb: 8 },
    });
    const outcome = await harness.runScript(callInFullHeap('add', 'await Promise.allSettled(pending); return made;'));
    expect(outcome.operations).toHaveLength(Math.min(valueOf(outcome) as number, 10_099));
    expect(outcome.operations.length).toBeGreaterThan(100);
    for (const { status, error } of outcome.operations)
      expect(status === 'completed' || error?.code === 'ToolValidationError').toBe(true);
  });
});

describe('a call site', () => {
  it.each(['getFunction', 'getThis', 'getFileName'])('is never accessible to a script: %s', async (name) => {
    const harness = openHarness({ tools: sampleTools().tools, approvals: 'auto' });
    const source = `
      const seen = [];
      try { Error.prepareStackTrace = (_, sites) => { seen.push(...sites); return sites; }; } catch {}
      const args = { a: 1, toJSON() { const { stack } = new Error('x'); seen.push(stack); return { a: 1 }; } };
      await tools.add(args);
      return seen.map((one) => typeof one === 'string' ? 'text' : typeof one['${name}']);`;
    expect(valueOf(await harness.runScript(source))).toEqual(['text']);
  });
});
