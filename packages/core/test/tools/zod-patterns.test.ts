import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ToolscriptUsageError } from '#core/protocol/errors.js';
import { defineTool } from '#core/tools/define-tool.js';
import { issueLines } from '#core/schema/validation-issues.js';
import { someCases } from '@toolscript/testkit/some-cases';
import { MAX_STALL_MS, shortestRun } from '@toolscript/testkit/stall';

const toolWith = (n: z.ZodType) =>
  defineTool({ name: 'probe', description: 'Probes.', input: z.object({ n }), execute: () => null });

function problems(schema: z.ZodType, n: unknown): string {
  const result = toolWith(schema).validateInput({ n });
  return result.ok ? '' : issueLines(result.issues);
}

const MEGABYTE = 1_000_000;
const HOSTILE = ['a', 'a.', 'a@', '1', '1.', '-', ':', ' ', '+', 'a-', 'P1', '0:', 'é', '😀', '='].map((piece) =>
  piece.repeat(Math.ceil(MEGABYTE / piece.length)),
);

/** zod's own formats, each with a valid text. */
const FORMATS: readonly (readonly [string, z.ZodType, string])[] = [
  ['email', z.email(), 'ann.b@example.com'],
  ['html5 email', z.email({ pattern: z.regexes.html5Email }), 'ann@example.com'],
  ['browser email', z.email({ pattern: z.regexes.browserEmail }), 'ann@example.com'],
  ['email of RFC 5322', z.email({ pattern: z.regexes.rfc5322Email }), 'ann@example.com'],
  ['email with any letters', z.email({ pattern: z.regexes.unicodeEmail }), 'änn@example.com'],
  ['domain', z.string().regex(z.regexes.domain), 'example.com'],
  ['long duration', z.string().regex(z.regexes.extendedDuration), 'P1DT2H'],
  ['url', z.url(), 'https://example.com/a?b=c'],
  ['uuid', z.uuid(), '123e4567-e89b-42d3-a456-426614174000'],
  ['uuid v7', z.uuidv7(), '01890a5d-ac96-774b-bcce-b302099a8057'],
  ['guid', z.guid(), '123e4567-e89b-12d3-a456-426614174000'],
  ['datetime', z.iso.datetime(), '2024-02-29T12:00:00.123Z'],
  ['datetime with an offset', z.iso.datetime({ offset: true, local: true }), '2024-02-29T12:00:00+01:00'],
  ['date', z.iso.date(), '2024-02-29'],
  ['time', z.iso.time(), '12:00:00'],
  ['duration', z.iso.duration(), 'P1DT2H'],
  ['ipv4', z.ipv4(), '127.0.0.1'],
  ['ipv6', z.ipv6(), '2001:db8::1'],
  ['cidrv4', z.cidrv4(), '10.0.0.0/8'],
  ['cidrv6', z.cidrv6(), '2001:db8::/32'],
  ['mac', z.mac(), '00:1A:2B:3C:4D:5E'],
  ['base64', z.base64(), 'YWJj'],
  ['base64url', z.base64url(), 'YWJj'],
  ['emoji', z.emoji(), '😀'],
  ['nanoid', z.nanoid(), 'V1StGXR8_Z5jdHi6B-myT'],
  ['cuid2', z.cuid2(), 'tz4a98xxat96iws9zmbrgj3a'],
  ['ulid', z.ulid(), '01ARZ3NDEKTSV4RRFFQ69G5FAV'],
  ['e164', z.e164(), '+491701234567'],
  ['hostname', z.hostname(), 'www.example.com'],
  ['hex', z.hex(), 'c0ffee'],
  ['jwt', z.jwt(), 'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxIn0.sig'],
  ['lower case', z.string().lowercase(), 'abc'],
  ['a beginning, a middle and an end', z.string().startsWith('a').includes('b').endsWith('c'), 'abc'],
];

describe('a format of zod', () => {
  it.each(FORMATS)('%s is tested as usual', (_, schema, text) => {
    expect(problems(schema, text)).toBe('');
    expect(problems(schema, 'A b§')).not.toBe('');
  });

  it.each(FORMATS)('%s takes little time for a long text', async (name, schema) => {
    const probe = toolWith(schema);
    let longest = 0;
    for (const text of someCases(HOSTILE, 3, name.length))
      longest = Math.max(longest, await shortestRun(() => probe.validateInput({ n: `${text}!` })));
    if (process.env['SHOW_STALLS']) console.log(name, Math.round(longest));
    expect(longest).toBeLessThan(MAX_STALL_MS);
  });
});

describe('a pattern of a tool’s author', () => {
  it.each([
    ['.regex()', z.string().regex(/^(a+)+$/)],
    [
      '.regex() among others',
      z
        .string()
        .min(1)
        .regex(/^a/)
        .regex(/(.*)*x/),
    ],
    ['a format', z.email({ pattern: /^(\w+\s?)*@$/ })],
    ['a custom format', z.stringFormat('words', /^(\w+\s?)*$/)],
    ['a template', z.templateLiteral([z.string().regex(/(a|a)*/), '-'])],
    ['a key', z.record(z.string().regex(/^(a|ab)*$/), z.number())],
    ['a list in a union', z.union([z.number(), z.array(z.string().regex(/^(a+)+$/))])],
  ])('that could take exponential time is refused when the tool is defined: %s', (_, schema) => {
    expect(() => toolWith(schema)).toThrow(ToolscriptUsageError);
    expect(() => toolWith(schema)).toThrow(/exponential time.*\.refine\(\)/s);
  });

  it.each([
    [/^[a-z0-9]+(?:-[a-z0-9]+)*$/, 'a-slug-of-words', 'A slug'],
    [/^[\w.-]+\.tsx?$/i, 'Main.TSX', 'main.js'],
    [/\S/, ' x ', '   '],
    [/^\d{4}-\d{2}$/, '2024-05', '24-5'],
    [/^[^\0]+$/s, 'a\nb', ''],
    [/^\p{L}+(?: \p{L}+)*$/u, 'Ann Bé', 'Ann 1'],
  ])('that is cheap is tested: %s', (pattern, right, wrong) => {
    expect(problems(z.string().regex(pattern), right)).toBe('');
    expect(problems(z.string().regex(pattern), wrong)).toContain('a string that matches');
  });

  it('rejects a text that is too long for it, and reports the maximum length', () => {
    const schema = z.object({ slug: z.string().regex(/^[a-z]+(?:-[a-z]+)*$/) });
    expect(problems(schema, { slug: 'a-'.repeat(1_500) + 'a' })).toBe('');
    expect(problems(schema, { slug: 'a'.repeat(4_000) })).toBe(
      'args.n.slug: is too long to be tested with /^[a-z]+(?:-[a-z]+)*$/, which takes at most 3162 characters',
    );
  });

  it('is tested with a megabyte if that takes linear time', () => {
    expect(problems(z.string().regex(/\S/), `${' '.repeat(MEGABYTE)}x`)).toBe('');
  });

  it('takes bounded time in all the texts of one call', async () => {
    const probe = toolWith(z.array(z.string().regex(/^a*a*b$/)));
    const n = Array.from({ length: 300 }, () => 'a'.repeat(2_000));
    expect(await shortestRun(() => probe.validateInput({ n }))).toBeLessThan(MAX_STALL_MS);
  });
});
