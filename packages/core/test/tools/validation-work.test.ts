import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createGate } from '#core/approvals/gate.js';
import { DEFAULT_LIMITS } from '#core/protocol/limits.js';
import { createFacade } from '#core/tools/facade.js';
import { createRegistry } from '#core/tools/registry.js';
import { defineTool, type DefinedTool } from '#core/tools/define-tool.js';
import type { CallResult } from '../../src/tools/facade-types.js';

/**
 * Validation runs on the host's own thread: nothing else happens meanwhile. The values below take seconds to
 * minutes where the work is not bounded, and a tenth of a second where it is; the limit leaves the difference
 * to a busy machine.
 */
const MAX_STALL_MS = 5_000;

function tool(schema: object): DefinedTool {
  return defineTool({ name: 'probe', description: 'Probes.', execute: () => 1, ...schema } as never);
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
const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 1]));

/** About a megabyte each, or nested as deep as data may be. */
const STALLS: readonly (readonly [string, DefinedTool, unknown])[] = [
  ['zod: a recursive union', zodTool(zodNode), nested(10, {})],
  ['zod: a deep recursive union', zodTool(zodNode), nested(90, {})],
  ['zod: a recursive intersection', zodTool(zodBoth), nested(24, {})],
  ['zod: a deep recursive intersection', zodTool(zodBoth), nested(90, {})],
  ['zod: a recursive pipe', zodTool(zodPiped), nested(90, {})],
  ['zod: an array of wrong values', zodTool(z.array(z.string())), many(1, 500_000)],
  ['zod: an array of wrong objects', zodTool(z.array(z.object({ a: z.string() }))), many({}, 300_000)],
  ['zod: a tuple with wrong values', zodTool(z.tuple([z.number()]).rest(z.string())), many(1, 500_000)],
  ['zod: a record of wrong values', zodTool(z.record(z.string(), z.string())), keys(20_000)],
  ['zod: a record with wrong keys', zodTool(z.record(z.string().regex(/^a/), z.number())), keys(20_000)],
  ['zod: unknown keys', zodTool(z.object({ alpha: z.string().optional() })), keys(80_000)],
  ['JSON Schema: a recursive union', jsonTool({ $ref: '#/$defs/node' }, jsonNode), nested(10, {})],
  ['JSON Schema: a deep recursive union', jsonTool({ $ref: '#/$defs/node' }, jsonNode), nested(90, {})],
  ['JSON Schema: an array of wrong values', jsonTool({ type: 'array', items: { type: 'string' } }), many(1, 500_000)],
  ['JSON Schema: wrong members', jsonTool({ type: 'object', additionalProperties: { type: 'string' } }), keys(80_000)],
  [
    'JSON Schema: unknown keys',
    jsonTool({ type: 'object', properties: { alpha: {} }, additionalProperties: false }),
    keys(80_000),
  ],
  [
    'JSON Schema: many choices',
    jsonTool({ type: 'array', items: { enum: Array.from({ length: 2_000 }, (_, a) => ({ a })) } }),
    many({}, 300_000),
  ],
  [
    'JSON Schema: unique items',
    jsonTool({ type: 'array', items: { type: 'array', uniqueItems: true } }),
    many(
      Array.from({ length: 499 }, (_, index) => index),
      500,
    ),
  ],
];

describe('the work of validating', () => {
  it.each(STALLS)('is bounded: %s', (_, probe, n) => {
    const started = performance.now();
    const result = probe.validateInput({ n });
    expect(performance.now() - started).toBeLessThan(MAX_STALL_MS);
    if (!result.ok) expect(result.issues.length).toBeLessThan(60);
  });

  it('is bounded for unknown names of arguments', () => {
    for (const probe of [zodTool(z.unknown()), jsonTool({})]) {
      const started = performance.now();
      const result = probe.validateInput(keys(80_000));
      expect(performance.now() - started).toBeLessThan(MAX_STALL_MS);
      expect(result.ok).toBe(false);
    }
  });
});

describe('a bounded validation', () => {
  it('finds in a recursive union what is wrong, and where', () => {
    const found = zodTool(zodNode).validateInput({ n: nested(3, { leaf: 'no' }) });
    const wrong = { path: 'args.n.next.next.next.leaf', expected: 'number', received: 'string' };
    expect(found).toMatchObject({ issues: expect.arrayContaining([expect.objectContaining(wrong)]) });
    const right = { a: 'x', next: { b: 'x', next: { a: 'x', next: { leaf: 1 } } } };
    expect(zodTool(zodNode).validateInput({ n: right }).ok).toBe(true);
  });

  it('gives each branch of a recursive union what it made of a value', () => {
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

  it('tells every issue of small data, and of large data the first', () => {
    const probe = zodTool(z.array(z.string()));
    const small = probe.validateInput({ n: ['a', 1, 'b', 2] });
    expect(small).toMatchObject({ issues: [{ path: 'args.n[1]' }, { path: 'args.n[3]' }] });
    const large = probe.validateInput({ n: [...many('a', 5_000), 1, 2] });
    expect(large).toMatchObject({ issues: [{ path: 'args.n[5000]', message: 'expected string, received number' }] });
  });

  it('takes large data that is right', () => {
    expect(zodTool(z.array(z.union([z.string(), z.number()]))).validateInput({ n: many(1, 200_000) }).ok).toBe(true);
    const pairs = z.array(z.union([z.object({ a: z.string() }), z.object({ b: z.number() })]));
    expect(zodTool(pairs).validateInput({ n: many({ b: 1 }, 100_000) }).ok).toBe(true);
  });
});

describe('a script’s calls', () => {
  function facadeOf(probe: DefinedTool, maxToolCalls: number) {
    return createFacade({
      registry: createRegistry([probe]),
      exposed: new Set([probe.name]),
      gate: createGate(undefined, { approvalTimeoutMs: 1_000 }),
      limits: { ...DEFAULT_LIMITS, maxToolCalls },
      app: undefined,
      principal: 'ann',
      scriptId: 'scr_1',
      plan: [],
      clock: { nowMs: () => Date.now() },
      onEvent: () => undefined,
    });
  }

  const codeOf = (result: CallResult) => (result.ok ? 'ok' : result.error.code);

  it('beyond the budget are refused before their arguments are looked at', async () => {
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

  it('with large arguments are refused unread after megabytes of wrong ones; small ones go on', async () => {
    const facade = facadeOf(zodTool(z.array(z.string())), 32);
    const large = JSON.stringify({ n: many(1, 400_000) });
    const call = async (callIndex: number, argsJson: string) => {
      const result = await facade.call({ callId: `c${callIndex}`, callIndex, tool: 'probe', argsJson });
      return result.ok ? '' : result.error.message;
    };
    const messages: string[] = [];
    for (let index = 0; index < 5; index++) messages.push(await call(index, large));
    expect(messages[0]).toContain('args.n[0]: expected string');
    expect(messages[4]).toMatch(/65536 are allowed/);
    expect(await call(5, '{"n":[1]}')).toContain('args.n[0]: expected string');
  });
});
