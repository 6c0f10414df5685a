import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { type } from 'arktype';
import * as v from 'valibot';
import * as oldest from 'zod-4-0';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { createHarness, defineTool } from '@toolscript/core';

const base = { name: 'book', description: 'Books a room', approval: 'never', effect: 'read' } as const;

/** One tool, written with each library: `seats` has a default, and a rule in code rejects 13 for `seats`. */
const TOOLS = {
  'zod 4.0.0': defineTool({
    ...base,
    input: oldest.object({
      room: oldest.string(),
      seats: oldest
        .number()
        .refine((seats) => seats !== 13, 'no thirteen')
        .default(2),
    }),
    output: oldest.object({ booked: oldest.string() }),
    execute: (input) => {
      expectTypeOf(input).toEqualTypeOf<{ room: string; seats: number }>();
      return { booked: `${input.room} ${input.seats}` };
    },
  }),
  arktype: defineTool({
    ...base,
    input: type({ room: 'string', seats: 'number = 2' }),
    output: type({ booked: 'string' }),
    execute: (input) => {
      expectTypeOf(input).toEqualTypeOf<{ room: string; seats: number }>();
      return { booked: `${input.room} ${input.seats}` };
    },
  }),
  valibot: defineTool({
    ...base,
    input: toStandardJsonSchema(v.object({ room: v.string(), seats: v.optional(v.number(), 2) })),
    output: toStandardJsonSchema(v.object({ booked: v.string() })),
    execute: (input) => {
      expectTypeOf(input).toEqualTypeOf<{ room: string; seats: number }>();
      return { booked: `${input.room} ${input.seats}` };
    },
  }),
};

describe.each(Object.entries(TOOLS))('a tool with schemas of %s', (_library, tool) => {
  it('is declared exactly, runs with its defaults, and rejects unknown keys and wrong types', async () => {
    const harness = createHarness({ tools: [tool] });
    expect(harness.declarations()).toMatch(
      /book\(args: \{[^}]*room: string[^}]*seats\?: number[^}]*\}\): Promise<\{ booked: string/u,
    );
    const ran = await harness.runScript(`return (await tools.book({ room: 'blue' })).booked;`);
    expect(ran).toMatchObject({ status: 'completed', value: 'blue 2' });
    for (const wrong of ['{ room: 1 }', '{ room: "blue", chairs: 3 }', '{}']) {
      const refused = await harness.runScript(`const args: any = ${wrong}; return tools.book(args);`);
      expect(refused).toMatchObject({ status: 'failed' });
    }
    await harness.close();
  });

  it('gives its results the type of the schema', async () => {
    const harness = createHarness({ tools: [tool] });
    const outcome = await harness.runScript(`return (await tools.book({ room: 'blue' })).bookd;`);
    expect(outcome).toMatchObject({ status: 'failed', error: { code: 'ScriptTypeError' } });
    await harness.close();
  });
});

describe('a Standard Schema', () => {
  it('judges what its JSON Schema cannot express', () => {
    const input = type({ from: 'number', to: 'number' }).narrow(({ from, to }, context) =>
      from <= to ? true : context.mustBe('in order'),
    );
    const jsonSchema = { input: () => ({ type: 'object', properties: { from: {}, to: {} } }), output: () => ({}) };
    const standard = input['~standard'];
    const tool = defineTool({ ...base, input: { '~standard': { ...standard, jsonSchema } }, execute: () => 0 });
    expect(tool.validateInput({ from: 1, to: 2 })).toMatchObject({ ok: true });
    expect(tool.validateInput({ from: 2, to: 1 })).toMatchObject({ ok: false });
  });

  it('that transforms its values, is asynchronous or throws is refused', () => {
    const schemaOf = (validate: (value: never) => unknown) => ({
      '~standard': {
        version: 1 as const,
        vendor: 'test',
        validate: validate as never,
        jsonSchema: { input: () => ({ type: 'object', properties: { n: { type: 'number' } } }), output: () => ({}) },
      },
    });
    const issueOf = (validate: (value: never) => unknown) =>
      defineTool({ ...base, input: schemaOf(validate), execute: () => 0 }).validateInput({ n: 1 });
    const told = (text: RegExp) => ({ ok: false, issues: [{ message: expect.stringMatching(text) as string }] });
    expect(issueOf(({ n }: { n: number }) => ({ value: { n: n + 1 } }))).toMatchObject(told(/transforms/u));
    expect(issueOf(() => ({ value: { n: 1n } }))).toMatchObject(told(/JSON cannot represent/u));
    expect(issueOf(() => Promise.resolve({ value: {} }))).toMatchObject(told(/asynchronous/u));
    expect(
      issueOf(() => {
        throw new Error('broken rule');
      }),
    ).toMatchObject(told(/broken rule/u));
  });

  it('without a JSON Schema is refused with the libraries that have one', () => {
    const input = v.object({ room: v.string() }) as never;
    expect(() => defineTool({ ...base, input, execute: () => 0 })).toThrow(/no JSON Schema.*toStandardJsonSchema/u);
  });
});
