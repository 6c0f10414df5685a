import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { defineTool, memoryStore, ToolscriptUsageError, type HarnessOptions } from '#core/index.js';
import { QuickJsPool } from '#core/sandbox/index.js';
import type { JournalContent, SandboxRuntime, Tool } from '#core/protocol/index.js';
import { decideAll, keepCopy, open, suspended, valueOf } from './world.js';

/** The timeout is long enough for any machine. */
const eventually = <Result>(look: () => Result | Promise<Result>) =>
  vi.waitFor(look, { timeout: 60_000, interval: 10 });

interface Charge {
  key: string;
  input: unknown;
}

/** `charge` has an effect. Its first process never receives the result; a later one does. */
function charge(seen: Charge[], options: { idempotent?: boolean; answers?: boolean; approval?: 'always' } = {}): Tool {
  const { idempotent, answers = true, approval = 'never' } = options;
  return defineTool({
    name: 'charge',
    description: 'Charges an account',
    effect: 'external',
    approval,
    ...(idempotent === undefined ? {} : { idempotent }),
    input: z.object({ amount: z.number() }),
    execute: async (input, { idempotencyKey: key }) => {
      seen.push({ key, input });
      return answers ? { charged: input.amount } : new Promise<never>(() => {});
    },
  });
}

/** A later release of `charge`, whose arguments have one more member. */
function withCurrency(seen: Charge[]): Tool {
  return defineTool({
    name: 'charge',
    description: 'Charges an account',
    approval: 'never',
    idempotent: true,
    input: z.object({ amount: z.number(), currency: z.string().default('EUR') }),
    execute: (input, { idempotencyKey: key }) => seen.push({ key, input }),
  });
}

const read = defineTool({
  name: 'read',
  description: 'Reads',
  effect: 'read',
  approval: 'never',
  execute: () => 'read',
});

/** The store of a script whose process died while its call to `charge` was under way, and the script's id. */
async function afterTheDeath(source: string, tool: Tool, options: Partial<HarnessOptions> = {}) {
  const store = memoryStore();
  void open({ store, tools: [tool, read], ...options }).runScript(source);
  let lines: readonly string[] = [];
  await eventually(async () => {
    const [script] = (await store.journal.list()).scripts;
    lines = (script && (await store.journal.read(script.scriptId)))?.lines ?? [];
    expect(lines.at(-1)).toMatch(/"t":"intent".*"tool":"charge"/u);
  });
  const { scriptId } = (await store.journal.list()).scripts[0]!;
  return { scriptId, store: await copied(scriptId, { lines }) };
}

const copied = (scriptId: string, content: Pick<JournalContent, 'lines'>) => keepCopy(memoryStore(), scriptId, content);

const SOURCE = 'return await tools.charge({ amount: 5 }).catch(({ code, data }) => [code, data])';
const unknownOf = (scriptId: string, index = 0) => [
  'ToolExecutionError',
  { status: 'unknown', callId: `${scriptId}_call_${index}`, idempotencyKey: `${scriptId}:${index}` },
];

describe('a call to an idempotent tool that had started when its process died', () => {
  it.each([
    ['as a call', SOURCE, {}],
    ['as a detached task', 'return await tools.spawn.exec("charge", { amount: 5 }).done', { expose: { spawn: true } }],
  ])('is repeated under its key, %s, and counts once', async (_how, source, options) => {
    const seen: Charge[] = [];
    const { scriptId, store } = await afterTheDeath(
      source,
      charge(seen, { idempotent: true, answers: false, approval: 'always' }),
      { approvals: 'auto', ...options },
    );
    const tools = [charge(seen, { idempotent: true, approval: 'always' }), read];
    const done = await open({ store, tools, limits: { maxToolCalls: 1 }, ...options }).recover(scriptId);
    expect(valueOf(done)).toEqual({ charged: 5 });
    expect(seen).toEqual(Array.from({ length: 2 }, () => ({ key: `${scriptId}:0`, input: { amount: 5 } })));
    expect(done.operations).toMatchObject([{ callId: `${scriptId}_call_0`, status: 'completed' }]);
    expect(done.metadata.toolCallsMade).toBe(1);
  });

  const other = (approvals: HarnessOptions['approvals']): Partial<HarnessOptions> => ({ approvals });
  it.each<[string, boolean | undefined, Partial<HarnessOptions>, boolean | undefined]>([
    ['the tool of then did not say that it may', undefined, {}, true],
    ['the tool of now does not', true, {}, false],
    ['the policy of now denies it', true, other([{ tool: 'charge', action: 'deny' }]), true],
  ])('is not repeated if %s', async (_why, then, now, today) => {
    const seen: Charge[] = [];
    const { scriptId, store } = await afterTheDeath(
      SOURCE,
      charge(seen, { ...(then && { idempotent: then }), answers: false }),
    );
    const tools = [charge(seen, { ...(today !== undefined && { idempotent: today }) }), read];
    const done = await open({ store, tools, ...now }).recover(scriptId);
    expect(valueOf(done)).toEqual(unknownOf(scriptId));
    expect(done.operations).toMatchObject([{ status: 'unknown' }]);
    expect(seen).toHaveLength(1);
  });

  it('is not repeated with arguments other than the original ones', async () => {
    const seen: Charge[] = [];
    const { scriptId, store } = await afterTheDeath(SOURCE, charge(seen, { idempotent: true, answers: false }));
    const changed = withCurrency(seen);
    const done = await open({ store, tools: [changed, read] }).recover(scriptId);
    expect(valueOf(done)).toEqual(unknownOf(scriptId));
    expect(seen).toHaveLength(1);
  });

  it('has a tool that declares it with true or false', () => {
    expect(() => charge([], { idempotent: 'yes' as never })).toThrow(ToolscriptUsageError);
  });
});

const RETRY = `try { return await tools.charge({ amount: 5 }) }
  catch (error) { return [error.data.status, await error.retry()] }`;

describe('a script whose call has an unknown outcome', () => {
  it('can retry the call under the original key', async () => {
    const seen: Charge[] = [];
    const { scriptId, store } = await afterTheDeath(RETRY, charge(seen, { answers: false }));
    const done = await open({ store, tools: [charge(seen), read] }).recover(scriptId);
    expect(valueOf(done)).toEqual(['unknown', { charged: 5 }]);
    expect(seen).toEqual(Array.from({ length: 2 }, () => ({ key: `${scriptId}:0`, input: { amount: 5 } })));
    expect(done.operations).toMatchObject([
      { callId: `${scriptId}_call_0`, status: 'unknown' },
      { callId: `${scriptId}_call_1`, status: 'completed', retryOf: `${scriptId}_call_0` },
    ]);
  });

  it('needs budget, approval and a decision for the retry like for every call', async () => {
    const seen: Charge[] = [];
    const { scriptId, store } = await afterTheDeath(RETRY, charge(seen, { answers: false, approval: 'always' }), {
      approvals: 'auto',
    });
    const harness = open({ store, tools: [charge(seen, { approval: 'always' }), read] });
    const waiting = suspended(await harness.recover(scriptId));
    expect(waiting.pendingApprovals).toMatchObject([{ tool: 'charge', inputJson: '{"amount":5}' }]);
    expect(seen).toHaveLength(1);
    const done = await harness.resume(waiting.suspension, decideAll(waiting, 'approve'));
    expect(valueOf(done)).toEqual(['unknown', { charged: 5 }]);
    expect(seen.map(({ key }) => key)).toEqual([`${scriptId}:0`, `${scriptId}:0`]);
    expect(done.operations[1]).toMatchObject({ retryOf: `${scriptId}_call_0` });
  });

  it('keeps the key if the process dies again, and gets no call beyond its budget', async () => {
    const seen: Charge[] = [];
    const source = `const again = (error) => error.retry();
      return await tools.charge({ amount: 5 }).catch(again).catch(again).catch(({ code }) => code)`;
    const first = await afterTheDeath(source, charge(seen, { answers: false }));
    void open({ store: first.store, tools: [charge(seen, { answers: false }), read] }).recover(first.scriptId);
    await eventually(() => expect(seen).toHaveLength(2));
    const store = await copied(first.scriptId, (await first.store.journal.read(first.scriptId))!);
    const harness = open({ store, tools: [charge(seen), read], limits: { maxToolCalls: 3 } });
    const done = await harness.recover(first.scriptId);
    expect(valueOf(done)).toEqual({ charged: 5 });
    expect(new Set(seen.map(({ key }) => key))).toEqual(new Set([`${first.scriptId}:0`]));
    expect(done.operations.map(({ status, retryOf }) => [status, retryOf])).toEqual([
      ['unknown', undefined],
      ['unknown', `${first.scriptId}_call_0`],
      ['completed', `${first.scriptId}_call_0`],
    ]);
    const poor = await copied(first.scriptId, (await first.store.journal.read(first.scriptId))!);
    const refused = await open({ store: poor, tools: [charge(seen), read], limits: { maxToolCalls: 2 } }).recover(
      first.scriptId,
    );
    expect(valueOf(refused)).toBe('ToolBudgetExceededError');
  });

  it('cannot retry if its tool now reads the arguments differently', async () => {
    const seen: Charge[] = [];
    const source = `return await tools.charge({ amount: 5 }).catch((error) => error.retry()).catch(({ code }) => code)`;
    const { scriptId, store } = await afterTheDeath(source, charge(seen, { answers: false }));
    const changed = withCurrency(seen);
    const done = await open({ store, tools: [changed, read] }).recover(scriptId);
    expect(valueOf(done)).toBe('ToolValidationError');
    expect(seen).toHaveLength(1);
  });

  it('cannot retry another call, whatever its guest reports', async () => {
    const seen: Charge[] = [];
    const marks: string[] = [];
    const mark = defineTool({
      name: 'mark',
      description: 'Writes something down',
      effect: 'write',
      approval: 'never',
      execute: () => marks.push('marked'),
    });
    const source = `await tools.mark();
      const said = await tools.charge({ amount: 5 }).catch(({ data }) => data.status);
      const refused = [];
      for (let n = 0; n < 4; n++) refused.push(await tools.read().catch(({ code }) => code));
      return [said, refused]`;
    const tools = [charge(seen), read, mark];
    const { scriptId, store } = await afterTheDeath(source, charge(seen, { answers: false }), {
      tools: [charge(seen, { answers: false }), read, mark],
    });
    const harness = open({ store, tools, runtime: saying([0, 7, -1, '1']) });
    const refused = Array.from({ length: 4 }, () => 'ToolValidationError');
    expect(valueOf(await harness.recover(scriptId))).toEqual(['unknown', refused]);
    expect([seen.length, marks.length]).toEqual([1, 1]);
  });

  it('has the function in its declarations, and on no other error', async () => {
    const harness = open({ tools: [charge([]), read], typecheck: 'error' });
    const source = `try { return await tools.charge({ amount: 'x' as any }) }
      catch (error) { return error instanceof ToolExecutionError && error.retry !== undefined ? await error.retry() : (error as ToolValidationError).code }`;
    expect(valueOf(await harness.runScript(source))).toBe('ToolValidationError');
    expect(harness.declarations()).toContain('retry?(): Promise<any>');
  });
});

/** A runtime whose guest requests a retry of these calls, in turn, at each call of `read`. */
function saying(calls: readonly unknown[]): SandboxRuntime {
  const pool = new QuickJsPool({ size: 1 });
  const left = [...calls];
  return {
    name: 'quickjs',
    warm: () => pool.warm(),
    run: (job, observer) =>
      pool.run(job, {
        onStart: () => observer.onStart(),
        onSegment: (segment) =>
          observer.onSegment({
            ...segment,
            calls: segment.calls.map((call) =>
              call.name === 'read'
                ? { ...call, name: '$retry', argsJson: JSON.stringify({ call: left.shift() }) }
                : call,
            ),
          }),
      }),
    stats: () => pool.stats(),
    close: () => pool.close(),
  };
}
