import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createGate } from '#core/calls/approvals/gate.js';
import { createFacade } from '#core/calls/facade/facade.js';
import { createRegistry } from '#core/tools/registry.js';
import { defineTool, type DefinedTool } from '#core/tools/define-tool.js';
import type { CallResult } from '../../src/calls/facade/facade-types.js';
import { contextWith } from '../support/run-context.js';
import { MAX_STALL_MS, shortestRun, shortestStall } from '@toolscript/testkit/stall';

/** Validation runs on the host's own thread and blocks it. */
function tool(schema: object): DefinedTool {
  return defineTool({ name: 'probe', description: 'Probes.', approval: 'never', execute: () => 1, ...schema } as never);
}

const zodTool = (n: z.ZodType) => tool({ input: z.object({ n }) });
const jsonTool = (n: object, $defs: object = {}) => tool({ inputSchema: { type: 'object', properties: { n }, $defs } });

const zodNode: z.ZodType = z.lazy(() =>
  z.union([
    z.object({ a: z.string(), next: zodNode }),
    z.object({ b: z.string(), next: zodNode }),
    z.object({ leaf: z.number() }),
  ]),
);
const zodBoth: z.ZodType = z.lazy(() => z.looseObject({ next: z.intersection(zodBoth, zodBoth).optional() }));
const zodPiped: z.ZodType = z.lazy(() => z.looseObject({ next: zodPiped.pipe(zodPiped).optional() }));
const branch = (name: string) => ({
  type: 'object',
  properties: { [name]: { type: 'string' }, next: { $ref: '#/$defs/node' } },
  required: [name, 'next'],
});
const jsonNode = {
  node: {
    anyOf: [branch('a'), branch('b'), { type: 'object', properties: { leaf: { type: 'number' } }, required: ['leaf'] }],
  },
};

function nested(depth: number, leaf: unknown): unknown {
  let value = leaf;
  for (let level = 0; level < depth; level++) value = { a: 'x', b: 'x', next: value };
  return value;
}

const many = (value: unknown, count: number) => Array.from({ length: count }, () => value);
const names = (count: number, start = 'member_name_') =>
  Array.from({ length: count }, (_, index) => `${start}${index}`);
const keys = (count: number, value: unknown = 1, start = 'k') =>
  Object.fromEntries(names(count, start).map((name) => [name, value]));
const zodKinds = 'abcdefgh'.split('').map((kind) => z.object({ kind: z.literal(kind), id: z.number() }));
const jsonKinds = 'abcdefgh'.split('').map((kind) => ({
  type: 'object',
  properties: { kind: { const: kind }, id: { type: 'number' } },
  required: ['kind', 'id'],
}));
const jsonRow = {
  type: 'object',
  properties: { id: { type: 'number' }, name: { type: 'string' } },
  required: ['id', 'name'],
  additionalProperties: false,
};

/** Arguments with the maximum number of values and names, or with the maximum depth. */
const STALLS: readonly (readonly [string, DefinedTool, unknown])[] = [
  ['zod: a recursive union', zodTool(zodNode), nested(10, {})],
  ['zod: a deep recursive union', zodTool(zodNode), nested(90, {})],
  ['zod: a recursive intersection', zodTool(zodBoth), nested(24, {})],
  ['zod: a deep recursive intersection', zodTool(zodBoth), nested(90, {})],
  ['zod: a recursive pipe', zodTool(zodPiped), nested(90, {})],
  ['zod: an array of wrong values', zodTool(z.array(z.string())), many(1, 29_000)],
  ['zod: an array of wrong objects', zodTool(z.array(z.object({ a: z.string() }))), many({}, 29_000)],
  ['zod: a tuple with wrong values', zodTool(z.tuple([z.number()]).rest(z.string())), many(1, 29_000)],
  ['zod: a record of wrong values', zodTool(z.record(z.string(), z.string())), keys(14_500)],
  ['zod: a record with wrong keys', zodTool(z.record(z.string().regex(/^a/), z.number())), keys(14_500)],
  ['zod: unknown keys', zodTool(z.object({ alpha: z.string().optional() })), keys(14_500)],
  ['JSON Schema: a recursive union', jsonTool({ $ref: '#/$defs/node' }, jsonNode), nested(10, {})],
  ['JSON Schema: a deep recursive union', jsonTool({ $ref: '#/$defs/node' }, jsonNode), nested(90, {})],
  ['JSON Schema: an array of wrong values', jsonTool({ type: 'array', items: { type: 'string' } }), many(1, 29_000)],
  ['JSON Schema: wrong members', jsonTool({ type: 'object', additionalProperties: { type: 'string' } }), keys(14_500)],
  [
    'JSON Schema: unknown keys',
    jsonTool({ type: 'object', properties: { alpha: {} }, additionalProperties: false }),
    keys(14_500),
  ],
  [
    'JSON Schema: many choices',
    jsonTool({ type: 'array', items: { enum: Array.from({ length: 2_000 }, (_, a) => ({ a })) } }),
    many({}, 29_000),
  ],
  [
    'JSON Schema: unique items',
    jsonTool({ type: 'array', items: { type: 'array', uniqueItems: true } }),
    many(
      Array.from({ length: 499 }, (_, index) => index),
      58,
    ),
  ],
  [
    'JSON Schema: unique objects',
    jsonTool({ type: 'array', items: { type: 'array', uniqueItems: true } }),
    many(
      Array.from({ length: 499 }, (_, a) => ({ a })),
      19,
    ),
  ],
  ['zod: a list of numbers', zodTool(z.array(z.number())), many(1, 29_000)],
  ['zod: a list of empty objects', zodTool(z.array(z.object({}))), many({}, 29_000)],
  ['zod: a record', zodTool(z.record(z.string(), z.number())), keys(14_500)],
  ['zod: a record of records', zodTool(z.record(z.string(), z.record(z.string(), z.number()))), keys(140, keys(100))],
  ['zod: a union of primitives', zodTool(z.array(z.union([z.string(), z.boolean(), z.number()]))), many(1, 29_000)],
  ['zod: a union of objects', zodTool(z.array(z.union(zodKinds))), many({ kind: 'h', id: 1 }, 5_700)],
  ['zod: a wrong union of objects', zodTool(z.array(z.union(zodKinds))), many({ kind: 'x', id: 1 }, 5_700)],
  [
    'zod: a discriminated union',
    zodTool(z.array(z.discriminatedUnion('kind', zodKinds as never))),
    many({ kind: 'h', id: 1 }, 5_700),
  ],
  ['zod: a union of many formats', zodTool(z.union(many(z.email(), 50) as z.ZodType[])), 'a'.repeat(1_000_000)],
  ['JSON Schema: a list of numbers', jsonTool({ type: 'array', items: { type: 'number' } }), many(1, 29_000)],
  ['JSON Schema: rows', jsonTool({ type: 'array', items: jsonRow }), many({ id: 1, name: 'a' }, 5_700)],
  [
    'JSON Schema: rows, the last one wrong',
    jsonTool({ type: 'array', items: jsonRow }),
    [...many({ id: 1, name: 'a' }, 4_800), {}],
  ],
  [
    'zod: unknown keys like many known ones',
    zodTool(z.strictObject(Object.fromEntries(names(500).map((name) => [name, z.string().optional()])))),
    keys(14_000, 'v', 'member_nome_'),
  ],
  [
    'JSON Schema: unknown keys like many known ones',
    jsonTool({
      type: 'object',
      properties: Object.fromEntries(names(2_000).map((name) => [name, {}])),
      additionalProperties: false,
    }),
    keys(14_000, 'v', 'member_nome_'),
  ],
  [
    'JSON Schema: an unknown key like many long ones',
    jsonTool({
      type: 'object',
      properties: Object.fromEntries(names(5_000, 'x'.repeat(110)).map((name) => [name, {}])),
      additionalProperties: false,
    }),
    { ['y'.repeat(120)]: 1 },
  ],
  [
    'zod: a long string for one of many texts',
    zodTool(z.union(names(50).map((name) => z.literal(name)))),
    'a'.repeat(1_000_000),
  ],
  [
    'JSON Schema: a long string for one of many long texts',
    jsonTool({ oneOf: names(50, 'a'.repeat(20_000)).map((text) => ({ type: 'string', const: text })) }),
    'a'.repeat(1_000_000),
  ],
  [
    'JSON Schema: wrong values under a long name',
    jsonTool({ type: 'object', additionalProperties: { type: 'array', items: { type: 'number' } } }),
    { ['k'.repeat(900_000)]: many('x', 20_000) },
  ],
  ['JSON Schema: members', jsonTool({ type: 'object', additionalProperties: { type: 'number' } }), keys(14_500)],
  [
    'JSON Schema: a union of objects',
    jsonTool({ type: 'array', items: { anyOf: jsonKinds } }),
    many({ kind: 'h', id: 1 }, 5_700),
  ],
];

describe('the work of validating', () => {
  it.each(STALLS)('is bounded: %s', async (name, probe, n) => {
    const ms = await shortestRun(() => probe.validateInput({ n }));
    if (process.env['SHOW_STALLS']) console.log(name, Math.round(ms));
    expect(ms).toBeLessThan(MAX_STALL_MS);
    const result = probe.validateInput({ n });
    if (result.ok) return;
    expect(result.issues.length).toBeLessThan(60);
    expect(JSON.stringify(result.issues).length).toBeLessThan(60 * 2_000);
  });

  it('is bounded for unknown names of arguments', async () => {
    for (const probe of [zodTool(z.unknown()), jsonTool({})]) {
      const data = keys(14_500);
      expect(await shortestRun(() => probe.validateInput(data))).toBeLessThan(MAX_STALL_MS);
      expect(probe.validateInput(data).ok).toBe(false);
    }
  });
});

describe('a bounded validation', () => {
  it('finds each issue and its place in a recursive union', () => {
    const found = zodTool(zodNode).validateInput({ n: nested(3, { leaf: 'no' }) });
    const wrong = { path: 'args.n.next.next.next.leaf', expected: 'number', received: 'string' };
    expect(found).toMatchObject({ issues: expect.arrayContaining([expect.objectContaining(wrong)]) });
    const right = { a: 'x', next: { b: 'x', next: { a: 'x', next: { leaf: 1 } } } };
    expect(zodTool(zodNode).validateInput({ n: right }).ok).toBe(true);
  });

  it('gives each branch of a recursive union its own result for a value', () => {
    const node: z.ZodType = z.lazy(() =>
      z.union([
        z.object({ kind: z.literal('a'), next: node.optional(), left: z.number().default(1) }),
        z.object({ kind: z.string(), next: node.optional(), right: z.number().default(2) }),
      ]),
    );
    const value = { kind: 'b', next: { kind: 'a', next: { kind: 'b' } } };
    const result = zodTool(node).validateInput({ n: value });
    expect(result.ok && JSON.parse(JSON.stringify(result.value))).toEqual({
      n: { kind: 'b', right: 2, next: { kind: 'a', left: 1, next: { kind: 'b', right: 2 } } },
    });
  });

  it('reports every issue of small data, and the first ones of large data', () => {
    const probe = zodTool(z.array(z.string()));
    const small = probe.validateInput({ n: ['a', 1, 'b', 2] });
    expect(small).toMatchObject({ issues: [{ path: 'args.n[1]' }, { path: 'args.n[3]' }] });
    const large = probe.validateInput({ n: [...many('a', 5_000), 1, 2] });
    expect(large).toMatchObject({ issues: [{ path: 'args.n[5000]', message: 'expected string, received number' }] });
  });

  it('visits no more values once it has found many wrong ones', () => {
    let visits = 0;
    const counted = z.unknown().refine(() => (visits += 1) < 0);
    expect(zodTool(z.record(z.string(), counted)).validateInput({ n: keys(1_000, 1) }).ok).toBe(false);
    expect(visits).toBeGreaterThan(0);
    expect(visits).toBeLessThan(200);
  });

  it('accepts large valid data', () => {
    const accepts = (probe: DefinedTool, n: unknown) => expect(probe.validateInput({ n }).ok).toBe(true);
    accepts(zodTool(z.array(z.number())), many(1, 29_000));
    accepts(zodTool(z.array(z.union([z.string(), z.number()]))), many(1, 14_000));
    accepts(zodTool(z.record(z.string(), z.number())), keys(14_500));
    const pairs = z.array(z.union([z.object({ a: z.string() }), z.object({ b: z.number() })]));
    accepts(zodTool(pairs), many({ b: 1 }, 9_500));
    accepts(zodTool(z.array(z.union(zodKinds))), many({ kind: 'h', id: 1 }, 1_500));
    accepts(jsonTool({ type: 'array', items: jsonRow }), many({ id: 1, name: 'a' }, 5_700));
    accepts(jsonTool({ type: 'array', items: { type: 'number' } }), many(1, 24_000));
    accepts(jsonTool({ type: 'array', items: { anyOf: jsonKinds } }), many({ kind: 'h', id: 1 }, 500));
  });

  it('reports the first issues of a large invalid record', () => {
    for (const probe of [
      zodTool(z.record(z.string(), z.string())),
      jsonTool({ type: 'object', additionalProperties: { type: 'string' } }),
    ]) {
      const found = probe.validateInput({ n: keys(10_000) });
      const issues = found.ok ? [] : found.issues;
      expect(issues[0]).toMatchObject({ path: 'args.n.k0', expected: 'string', received: 'number' });
    }
  });

  it('lets an intersection discard all issues of one side', () => {
    const schema = z.intersection(z.record(z.string().regex(/^x-/), z.string()), z.looseObject({}));
    const data = { ...keys(200), 'x-a': 'text' };
    expect(zodTool(schema).validateInput({ n: data }).ok).toBe(true);
    expect(zodTool(schema).validateInput({ n: { ...data, 'x-b': 1 } })).toMatchObject({
      issues: [{ path: 'args.n["x-b"]' }],
    });
  });
});

/** Maximum for one large result, because two of them would take longer. */
const MAX_LARGE_RESULT_MS = 2 * MAX_STALL_MS;

describe('a script’s calls', () => {
  function facadeOf(probe: DefinedTool, maxToolCalls: number) {
    return createFacade({
      services: { registry: createRegistry([probe]), exposed: new Set([probe.name]), whyMissing: () => undefined },
      context: contextWith({ principal: 'ann', limits: { maxToolCalls } }),
      gate: createGate(contextWith()),
      scriptId: 'scr_1',
      plan: [],
      nowMs: () => performance.now(),
      listener: {},
    });
  }

  const codeOf = (result: CallResult) => (result.ok ? 'ok' : result.error.code);

  it('beyond the budget are refused before their arguments are read', async () => {
    let validated = 0;
    const probe = {
      ...zodTool(z.array(z.string())),
      validateInput: () => ({ ok: false, issues: [(validated++, { path: 'args', message: 'no' })] }),
    };
    const facade = facadeOf(probe as never, 2);
    const calls = Array.from({ length: 20 }, (_, callIndex) =>
      facade.call({ callId: `c${callIndex}`, callIndex, tool: 'probe', argsJson: '{"n":[1]}' }),
    );
    const codes = (await Promise.all(calls)).map(codeOf);
    expect(codes).toEqual([...many('ToolValidationError', 2), ...many('ToolBudgetExceededError', 18)]);
    expect(validated).toBe(2);
  });

  it('with large arguments are refused unread after megabytes of wrong ones; small ones still run', async () => {
    const facade = facadeOf(zodTool(z.array(z.string())), 32);
    const large = JSON.stringify({ n: ['a'.repeat(800_000), 1] });
    const call = async (callIndex: number, argsJson: string) => {
      const result = await facade.call({ callId: `c${callIndex}`, callIndex, tool: 'probe', argsJson });
      return result.ok ? '' : result.error.message;
    };
    const messages: string[] = [];
    for (let index = 0; index < 5; index++) messages.push(await call(index, large));
    expect(messages[0]).toContain('args.n[1]: expected string');
    expect(messages[4]).toMatch(/65536 are allowed/);
    expect(await call(5, '{"n":[1]}')).toContain('args.n[0]: expected string');
  });

  it('with too many values are refused before they are read', async () => {
    const facade = facadeOf(zodTool(z.array(z.number())), 32);
    const call = (callIndex: number, values: number) =>
      facade.call({
        callId: `c${callIndex}`,
        callIndex,
        tool: 'probe',
        argsJson: JSON.stringify({ n: many(1, values) }),
      });
    expect(codeOf(await call(0, 29_997))).toBe('ok');
    const refused = await call(1, 29_998);
    expect(refused.ok ? '' : refused.error.message).toBe(
      'The arguments of probe are wrong: they hold 30001 values and names of members, and 30000 are allowed; send fewer in one call.',
    );
  });

  const LARGE: readonly (readonly [string, z.ZodType, unknown])[] = [
    ['one long text', z.string(), 'a'.repeat(1_000_000)],
    ['a long text of escapes', z.string(), '"'.repeat(500_000)],
    ['a list of numbers', z.array(z.number()), many(1, 29_900)],
    ['a list of empty lists', z.array(z.array(z.number())), many([], 29_900)],
    ['a record', z.record(z.string(), z.number()), keys(14_900)],
    ['more values than may cross', z.array(z.number()), many(1, 500_000)],
    ['wrong values', z.array(z.string()), many(1, 29_900)],
  ];

  it.each(LARGE)('do not delay other work: %s', async (name, schema, n) => {
    const argsJson = JSON.stringify({ n });
    const stall = await shortestStall(() => {
      const probe = tool({ input: z.object({ n: schema }), execute: (input: unknown) => input });
      return facadeOf(probe, 1).call({ callId: 'c', callIndex: 0, tool: 'probe', argsJson });
    });
    if (process.env['SHOW_STALLS']) console.log(name, Math.round(stall));
    expect(stall).toBeLessThan(MAX_STALL_MS);
  });

  it('with any number of large results do not delay other work', async () => {
    const large = keys(40_000);
    const probe = tool({ input: z.object({}), execute: () => large });
    const stall = await shortestStall(() => {
      const facade = facadeOf(probe, 16);
      const calls = Array.from({ length: 16 }, (_, callIndex) =>
        facade.call({ callId: `c${callIndex}`, callIndex, tool: 'probe', argsJson: '{}' }),
      );
      return Promise.all(calls);
    });
    if (process.env['SHOW_STALLS']) console.log('large results', Math.round(stall));
    expect(stall).toBeLessThan(MAX_LARGE_RESULT_MS);
  });

  it.each([
    ['too many bytes', {}, 'x'.repeat(1_100_000)],
    ['too many values', {}, many({}, 110_000)],
    ['no JSON data', {}, [...many({}, 90_000), new Map().keys()]],
    ['values that do not fit their schema', { output: z.array(z.array(z.string())) }, many([1], 24_000)],
  ])('with refused results leave a turn to other work after each: %s', async (_why, output, large) => {
    const probe = tool({ input: z.object({}), ...output, execute: () => large });
    const facade = facadeOf(probe, 32);
    let turns = 0;
    const count = (): void => {
      turns += 1;
      immediate = setImmediate(count);
    };
    let immediate = setImmediate(count);
    const calls = Array.from({ length: 32 }, (_, callIndex) =>
      facade.call({ callId: `c${callIndex}`, callIndex, tool: 'probe', argsJson: '{}' }),
    );
    const codes = (await Promise.all(calls)).map(codeOf);
    clearImmediate(immediate);
    expect(new Set(codes)).toEqual(new Set(['ToolExecutionError']));
    expect(turns).toBeGreaterThanOrEqual(31);
  });
});
