import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createHarness, type Harness } from '#core/index.js';
import { CATCHABLE_CODES } from '#core/protocol/index.js';
import { defineTool } from '#core/tools/index.js';
import { failureOf, openHarness, valueOf } from './open-harness.js';
import { sampleTools } from './sample-tools.js';

const named = (name: string) =>
  defineTool({
    name,
    description: `Says ${name}. More of it.`,
    effect: 'read',
    input: z.looseObject({}),
    execute: () => name,
  });
const giving = (name: string, give: () => unknown) =>
  defineTool({ name, description: 'x', effect: 'external', approval: 'never', execute: give });

let harness: Harness;
const value = async (source: string) => valueOf(await harness.runScript(source));

beforeAll(() => {
  const odd = [
    giving('odd.fn', () => () => 1),
    giving('odd.date', () => new Date(0)),
    giving('odd.nothing', () => undefined),
    giving('odd.keys', () => JSON.parse('{"then":5,"constructor":1}') as unknown),
    giving('odd.thrown', () => {
      // oxlint-disable-next-line no-throw-literal
      throw null;
    }),
    giving('odd.host', () => {
      throw Object.assign(new Error('plain message'), { stack: 'Error: plain\n at /host/path/file.js:1:1' });
    }),
  ];
  harness = createHarness({
    typecheck: 'off',
    approvals: 'deny',
    tools: [
      named('get-user'),
      named('prompts.save'),
      named('prompts.get'),
      named('deep.er.still'),
      ...odd,
      ...sampleTools().tools,
    ],
    expose: { spawn: true },
  });
});

afterAll(() => harness.close());

describe('the names of tools', () => {
  it('exist in their own form, as identifiers, and as namespaces', async () => {
    expect(
      await value(
        'return [await tools.get_user(), await tools["get-user"]({}), await tools.prompts.save({}), await tools.deep.er.still()]',
      ),
    ).toEqual(['get-user', 'get-user', 'prompts.save', 'deep.er.still']);
    expect(
      await value('const { echo, prompts: { get } } = tools; return [await echo({ value: 1 }), await get()]'),
    ).toEqual([1, 'prompts.get']);
  });

  it('an operation and its events carry the tool’s own name', async () => {
    const outcome = await harness.runScript('await tools.get_user(); await tools.prompts.save()');
    expect(outcome.operations.map(({ tool }) => tool)).toEqual(['get-user', 'prompts.save']);
  });

  it('in a namespace are guarded, too', async () => {
    expect(failureOf(await harness.runScript('return tools.prompts.sav()'))).toMatchObject({
      code: 'ToolNotFoundError',
      message: expect.stringContaining('prompts.save') as unknown,
    });
    expect(failureOf(await harness.runScript('tools.prompts.save = 1')).message).toMatch(/TypeError/u);
  });

  it('mcp, http and then are undefined if they do not exist, and spawn if it is disabled', async () => {
    expect(await value('return [typeof tools.mcp, typeof tools.http, typeof tools.then, tools.mcp?.server]')).toEqual([
      'undefined',
      'undefined',
      'undefined',
      null,
    ]);
    const own = openHarness({ tools: sampleTools().tools });
    expect(valueOf(await own.runScript('return [typeof tools.spawn, tools.spawn?.exec("x")]'))).toEqual([
      'undefined',
      null,
    ]);
  });
});

describe('the result of a tool', () => {
  it.each(['odd.fn'])(
    '%s: a result that is not JSON data is reported, with the fact that the tool ran',
    async (name) => {
      const outcome = await harness.runScript(`return await tools.${name}()`);
      expect(failureOf(outcome)).toMatchObject({
        code: 'ToolExecutionError',
        message: expect.stringContaining('ran and took effect') as unknown,
      });
      expect(outcome.operations).toMatchObject([{ status: 'completed', resultOmitted: true }]);
    },
  );

  it('crosses as JSON does', async () => {
    expect(await value('return [await tools.odd.date(), typeof await tools.odd.nothing()]')).toEqual([
      '1970-01-01T00:00:00.000Z',
      'undefined',
    ]);
    expect(
      await value(
        'const r = await tools.odd.keys(); return [Object.keys(r), Object.getPrototypeOf(r) === Object.prototype]',
      ),
    ).toEqual([['then', 'constructor'], true]);
  });

  it('is only a message if the tool throws anything', async () => {
    const source =
      'const seen = []; for (const name of ["thrown", "host"]) try { await tools.odd[name](); } catch (e) { seen.push([e.name, e.message, String(e.stack).includes("/host")]); } return seen';
    expect(await value(source)).toEqual([
      [
        'ToolExecutionError',
        'The tool "odd.thrown" failed and gave no reason. Check the arguments of the call.',
        false,
      ],
      ['ToolExecutionError', 'plain message', false],
    ]);
  });
});

describe('the catalog', () => {
  it('finds, describes and lists', async () => {
    expect(await value('return await catalog.search("user")')).toMatchObject([
      { name: 'get_user', description: expect.stringContaining('Says get-user') as unknown },
    ]);
    expect(await value('return await catalog.search("tool that adds numbers", { limit: 1 })')).toHaveLength(1);
    expect(await value('return await catalog.describe("add")')).toMatch(/add\(args: \{[^}]*a: number/u);
    expect(
      ((await value('return await catalog.list("prompts")')) as { name: string }[]).map(({ name }) => name).toSorted(),
    ).toEqual(['prompts.get', 'prompts.save']);
    expect((await value('return (await catalog.list()).length')) as number).toBeGreaterThan(10);
  });

  it('an unknown name is a ToolNotFoundError; its calls are not tool calls', async () => {
    const outcome = await harness.runScript('return await catalog.describe("ad")');
    expect(failureOf(outcome).code).toBe('ToolNotFoundError');
    expect(outcome.operations).toEqual([]);
    expect(outcome.metadata.toolCallsMade).toBe(0);
  });
});

describe('detached tasks', () => {
  it('outlive the script', async () => {
    const { tools, deeds, started } = sampleTools();
    const own = openHarness({ tools, expose: { spawn: true } });
    const outcome = await own.runScript('const task = tools.spawn.exec("wait", { ms: 100 }); return task.id');
    expect(valueOf(outcome)).toEqual(expect.any(String));
    expect(outcome.operations).toMatchObject([{ tool: 'wait', status: 'detached' }]);
    await started('wait');
    await own.runScript('await tools.wait({ ms: 200 })');
    expect(deeds.map(({ what }) => what)).not.toContain('aborted');
    expect(deeds.filter(({ what }) => what === 'ended')).toHaveLength(2);
  });

  it('can be waited for, and cancelled by their handle and by their id', async () => {
    expect(await value('const t = tools.spawn.exec("echo", { value: 5 }); return [typeof t.id, await t.done]')).toEqual(
      ['string', 5],
    );
    expect(
      await value(
        'const t = tools.spawn.exec("wait", { ms: 60_000 }); await tools.echo({ value: 0 }); const said = await t.cancel(); return [said, await t.done.catch((e) => e.name)]',
      ),
    ).toEqual([true, 'ToolExecutionError']);
    expect(
      await value(
        'const t = tools.spawn.exec("wait", { ms: 60_000 }); await tools.echo({ value: 0 }); return [await tools.spawn.cancel(t.id), await tools.spawn.cancel("task_999")]',
      ),
    ).toEqual([true, false]);
  });

  it('one that was cancelled before it started is not reported as not awaited', async () => {
    const outcome = await harness.runScript(
      'const t = tools.spawn.exec("wait", { ms: 60_000 }); t.done.catch(() => {}); await t.cancel(); return 1',
    );
    expect(outcome.operations[0]!.error?.message ?? '').not.toContain('without awaiting');
  });

  it('go through the same checks as every call', async () => {
    expect(await value('return await tools.spawn.exec("nope", {}).done.catch((e) => e.name)')).toBe(
      'ToolNotFoundError',
    );
    expect(await value('return await tools.spawn.exec("write", { path: "x" }).done.catch((e) => e.name)')).toBe(
      'ApprovalDeniedError',
    );
    expect(await value('return await tools.spawn.exec("add", { a: "x" }).done.catch((e) => e.name)')).toBe(
      'ToolValidationError',
    );
  });
});

describe('the other globals', () => {
  it('every catchable code is a class', async () => {
    expect(
      await value(
        `return [${CATCHABLE_CODES.join(', ')}].map((c) => { const e = new c('m'); return [c.name, e.name, e.message, e instanceof Error, e instanceof c]; })`,
      ),
    ).toEqual(CATCHABLE_CODES.map((code) => [code, code, 'm', true, true]));
  });

  it('text and emit append to the user’s output; an error shows its message', async () => {
    const outcome = await harness.runScript(
      'text("a"); emit("b\\n"); text({ c: [1] }); text(5); text(new Error("oh no"))',
    );
    expect(outcome.output).toContain('ab\n{"c":[1]}5');
    expect(outcome.output).toContain('oh no');
  });

  it('sleep waits by the wall clock, and accepts any number', async () => {
    expect(await value('const a = Date.now(); await sleep(30); return Date.now() - a >= 25')).toBe(true);
    expect(await value('await sleep(); await sleep(-1); await sleep("1"); await sleep(NaN); return "awake"')).toBe(
      'awake',
    );
  });

  it('a script may shadow every one of them', async () => {
    expect(
      await value(
        'const tools = { mine: 1 }, context = 2, text = 3, console = { log: () => 4 }; return [tools.mine, context, text, console.log()]',
      ),
    ).toEqual([1, 2, 3, 4]);
  });

  it('this is undefined at the top, as in a module', async () => {
    expect(await value('return [this === undefined, (function () { return this; })() === undefined]')).toEqual([
      true,
      true,
    ]);
  });

  it('runs in strict mode', async () => {
    expect(failureOf(await harness.runScript('undeclared = 1')).message).toMatch(/ReferenceError/u);
    expect(failureOf(await harness.runScript('with (Math) {}')).code).toBe('ScriptPolicyError');
  });
});

describe('a context from the host', () => {
  const nested = (levels: number): Record<string, unknown> => (levels === 1 ? {} : { in: nested(levels - 1) });

  it('is available and frozen down to the maximum depth', async () => {
    const source =
      'let at = context; let depth = 0; while (at) { if (!Object.isFrozen(at)) return false; at = at.in; depth++; } return depth;';
    const outcome = await harness.runScript(source, { context: nested(100) as never });
    expect(valueOf(outcome)).toBe(100);
  });

  it.each<[string, unknown]>([
    ['deeper than that', nested(101)],
    ['a list', [1]],
    ['no data', { big: 1n }],
  ])('is rejected with a sentence if it is %s', async (_name, context) => {
    await expect(harness.runScript('return 1', { context: context as never })).rejects.toThrow(
      'runScript: context must be an object of plain JSON data, at most 100 levels deep.',
    );
  });
});

describe('the frozen prototypes', () => {
  it('let every object have its own property under the name of each of their methods', async () => {
    const outcome = await harness.runScript(`
      const samples = [[], {}, () => {}, new Map(), new Set(), new WeakMap(), new WeakSet(), new Date(0), /a/, new Error(),
        new TypeError(), Promise.resolve(), new ArrayBuffer(1), new Uint8Array(1), new DataView(new ArrayBuffer(1)),
        Object('a'), Object(1), Object(true), Object(1n), [].values(), new Map().entries(), (function* () {})(),
        (async function* () {})(), new URL('http://a/'), new URLSearchParams()];
      const refused = [];
      let tried = 0;
      for (const sample of samples)
        for (let prototype = sample; (prototype = Object.getPrototypeOf(prototype)) !== null; )
          for (const key of Object.getOwnPropertyNames(prototype)) {
            const { value, get, set } = Object.getOwnPropertyDescriptor(prototype, key);
            if (['constructor', 'caller', 'arguments', '__proto__'].includes(key)) continue;
            const held = set === undefined ? value : sample[key];
            if (typeof held !== 'function') continue;
            tried++;
            try {
              sample[key] = 1;
              const now = Object.getOwnPropertyDescriptor(prototype, key);
              if (sample[key] !== 1 || now.value !== value || now.get !== get) refused.push(key);
              delete sample[key];
            } catch (error) { refused.push(key + ': ' + error.message); }
          }
      return { tried, refused };`);
    const { tried, refused } = valueOf(outcome) as { tried: number; refused: string[] };
    expect(refused).toEqual([]);
    expect(tried).toBeGreaterThan(300);
  });
});
