import { beforeAll, describe, expect, it } from 'vitest';
import type { Harness } from '#core/index.js';
import { Conversation, openPrograms } from './conversation.js';

let harness: Harness;
beforeAll(() => (harness = openPrograms({ typecheck: 'off' })));

const FAILING = `interface Unused { a: string }
function fail(): never {

  throw new RangeError('deep');
}`;

describe('a function of an earlier script', () => {
  it('is named with its script and line in the stacks that scripts read', async () => {
    const talk = new Conversation(harness);
    await talk.run('const one = 1');
    await talk.run(FAILING);
    expect(await talk.value(`const before = 1;\ntry { fail() } catch (error) { return error.stack }`)).toBe(
      'RangeError: deep\n    at fail (script 2, line 4)\n    at (script.ts:2:7)',
    );
  });

  it('is named with its script and line in a failure, whose place is in the current script', async () => {
    const talk = new Conversation(harness);
    await talk.run(FAILING);
    const { error } = await talk.run(`const before = 1;\n\nfail()`);
    expect(error).toMatchObject({ code: 'ScriptRuntimeError', line: 3, message: 'RangeError: deep' });
    expect(error?.stack).toContain('at fail (script 1, line 4)');
  });

  it('calls tools at the line of its caller in the current script', async () => {
    const talk = new Conversation(harness);
    await talk.run(
      `const call = async (n) => {\n  const one = await tools.math.double({ n });\n  return await tools.math.double({ n: one });\n}`,
    );
    const { value, operations } = await talk.run(`const a = 1;\n\n\nreturn await call(a)`);
    expect([value, operations.map(({ line }) => line)]).toEqual([4, [4, 4]]);
  });

  it('waits for an approval that shows the line of its caller, and its script has a heap after the resume', async () => {
    const talk = new Conversation(harness);
    await talk.run(
      `let paid = 0;\nconst send = async (to) => { paid += (await tools.pay({ to, euros: 30 })).paid; return paid }`,
    );
    const waiting = await talk.run(`const who = 'Ann';\nconst sum = await send(who);\nreturn sum`);
    if (waiting.status !== 'suspended') throw new Error(JSON.stringify(waiting));
    const [request] = waiting.pendingApprovals;
    expect([request?.line, request?.snippet, waiting.heap]).toEqual([
      2,
      expect.stringContaining('await send(who)'),
      talk.heap,
    ]);
    const resumed = await harness.resume(waiting.suspension, { [request!.approvalId]: 'approve' });
    expect([resumed.status, resumed.value]).toEqual(['completed', 30]);
    talk.heap = resumed.heap;
    expect(await talk.value(`return [who, sum, paid]`)).toEqual(['Ann', 30, 30]);
  });
});
