import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '#core/tools/define-tool.js';
import type { Tool } from '../../src/protocol/tools.js';

const base = { name: 'find', description: 'Finds.', execute: () => null };

const byZod = defineTool({
  ...base,
  input: z.object({
    query: z.string(),
    limit: z.number().optional(),
    mode: z.enum(['a', 'b']).default('a'),
    note: z.string().nullable().optional(),
    filter: z.object({ label: z.string().optional(), id: z.string() }).optional(),
    any: z.unknown().optional(),
  }),
});
const byJsonSchema = defineTool({
  ...base,
  inputSchema: {
    type: 'object',
    properties: {
      query: { type: 'string' },
      limit: { type: 'number' },
      mode: { enum: ['a', 'b'], default: 'a' },
      note: { type: ['string', 'null'] },
      filter: { type: 'object', properties: { label: { type: 'string' }, id: { type: 'string' } }, required: ['id'] },
      any: {},
    },
    required: ['query'],
  },
});

describe.each<[string, Tool]>([
  ['a zod schema', byZod],
  ['a JSON Schema', byJsonSchema],
])('null, to %s,', (_, tool) => {
  it('counts as absent if the member is optional and may not be null', () => {
    const filter = { id: '1', label: null };
    expect(tool.validateInput({ query: 'x', limit: null, mode: null, filter })).toEqual({
      ok: true,
      value: { query: 'x', mode: 'a', filter: { id: '1' } },
      absent: ['args.limit', 'args.mode', 'args.filter.label'],
    });
  });

  it('stays if it is a valid value of the member', () => {
    expect(tool.validateInput({ query: 'x', note: null, any: null, limit: null })).toMatchObject({
      value: { query: 'x', note: null, any: null, mode: 'a' },
      absent: ['args.limit'],
    });
    const untouched = tool.validateInput({ query: 'x', note: null });
    expect(untouched).toEqual({ ok: true, value: { query: 'x', note: null, mode: 'a' } });
  });

  it('is rejected for a required member and for an unknown key', () => {
    for (const wrong of [{ query: null }, { query: 'x', filter: { id: null } }, { query: 'x', lable: null }])
      expect(tool.validateInput(wrong)).toMatchObject({ ok: false });
  });

  it('does not hide other issues', () => {
    expect(tool.validateInput({ query: 5, limit: null })).toMatchObject({
      ok: false,
      issues: [{ path: 'args.query' }],
    });
  });
});

it('arguments that are not JSON are rejected, including cyclic ones', () => {
  const round: Record<string, unknown> = { query: 'x', limit: null };
  round['self'] = round;
  expect(byJsonSchema.validateInput(round)).toMatchObject({ ok: false });
  expect(byZod.validateInput(round)).toMatchObject({ ok: false });
});
