import { describe, expect, it } from 'vitest';
import { failureOf, sharedHarness, valueOf } from './open-harness.js';

const { harness } = sharedHarness();

const run = (source: string) => harness.runScript(source);
const value = async (source: string) => valueOf(await run(source));

/** Guest expressions of values that JSON would lose, with the message for the script. */
const REFUSED: readonly (readonly [expression: string, told: string])[] = [
  ['new Map()', 'a Map; use Object.fromEntries(map)'],
  ['new (class Named extends Map {})()', 'a Map; use Object.fromEntries(map)'],
  ['new Set()', 'a Set; use [...set]'],
  ['[1].values()', 'an Iterator; use [...iterator]'],
  ['new Map().entries()', 'an Iterator; use [...iterator]'],
  ['"a".matchAll(/a/g)', 'an Iterator; use [...iterator]'],
  ['[1].values().map((n) => n)', 'an Iterator; use [...iterator]'],
  ['(function* () {})()', 'an Iterator; use [...iterator]'],
  ['(async function* () {})()', 'an AsyncIterator; collect it with for await'],
  ['Promise.resolve(1)', 'a Promise that was not awaited'],
  ['new Uint8Array(2)', 'a Uint8Array; for text use new TextDecoder().decode(bytes), for base64 bytes.toBase64()'],
  ['new TextEncoder().encode("text")', 'a Uint8Array; for text use new TextDecoder().decode(bytes)'],
  ['new ArrayBuffer(2)', 'an ArrayBuffer; for text use new TextDecoder().decode(buffer)'],
  ['new DataView(new ArrayBuffer(2))', 'a DataView'],
  ['new Float64Array(2)', 'a Float64Array; use [...numbers]'],
  ['/a/', 'a RegExp; use String(pattern) or pattern.source'],
  ['new URLSearchParams("a=1")', 'a URLSearchParams; use String(params)'],
  ['new WeakMap()', 'a WeakMap'],
  ['new WeakSet()', 'a WeakSet'],
  ['new WeakRef({})', 'a WeakRef; use ref.deref()'],
  ['new Intl.NumberFormat()', 'a NumberFormat'],
  ['new TextDecoder()', 'a TextDecoder'],
  ['1n', 'a BigInt'],
  ['Object(1n)', 'a BigInt'],
  ['Symbol("s")', 'a Symbol'],
  ['() => 1', 'a function'],
];

describe('a value that JSON would lose is rejected', () => {
  it.each(REFUSED)('in a value, with its path: %s', async (expression, told) => {
    const error = failureOf(await run(`const made: any = ${expression}; return { a: [0, made] }`));
    expect(error).toMatchObject({ code: 'SerializationError', metadata: { path: 'value.a[1]' } });
    expect(error.message).toContain(`value.a[1] is ${told}`);
  });

  it.each(REFUSED)('in arguments, with its path: %s', async (expression, told) => {
    const source = `const made: any = ${expression};
      return await tools.echo({ value: { a: [0, made] } }).catch((error) => [error.name, error.message]);`;
    const [name, message] = (await value(source)) as [string, string];
    expect(name).toBe('ToolValidationError');
    expect(message).toContain(`args.value.a[1]: ${told}`);
  });

  it.each(REFUSED)('and is never shown as an empty object: %s', async (expression) => {
    const outcome = await run(`const made: any = ${expression}; text(made); console.log(made, [made]);`);
    const shown = [outcome.output, ...outcome.logs.map(({ text }) => text)].join(' ');
    expect(shown).not.toMatch(/(?<!\w )\{\}/u);
    expect(shown.length).toBeGreaterThan(3);
  });

  it('as the result of a toJSON', async () => {
    expect(failureOf(await run('return { toJSON: () => [1].values() }')).message).toContain('an Iterator');
  });
});

describe('an error crosses as its name and message', () => {
  it.each<[string, unknown]>([
    ['new Error("no")', { name: 'Error', message: 'no' }],
    ['new RangeError("far")', { name: 'RangeError', message: 'far' }],
    ['new (class MyError extends Error { name = "MyError" })("mine")', { name: 'MyError', message: 'mine' }],
    ['Object.assign(new Error("no"), { status: 404 })', { name: 'Error', message: 'no', status: 404 }],
    [
      'new Error("no", { cause: new Error("why") })',
      { name: 'Error', message: 'no', cause: { name: 'Error', message: 'why' } },
    ],
    [
      'new AggregateError([new Error("one")], "all")',
      { name: 'AggregateError', message: 'all', errors: [{ name: 'Error', message: 'one' }] },
    ],
    ['new DOMException("stop", "AbortError")', { name: 'AbortError', message: 'stop' }],
    ['Object.assign(new Error("no"), { toJSON: () => "own" })', 'own'],
  ])('%s', async (expression, expected) => {
    expect(await value(`return ${expression}`)).toEqual(expected);
    expect(await value(`return { nested: [${expression}] }`)).toEqual({ nested: [expected] });
    expect(await value(`return await tools.echo({ value: [${expression}] as any })`)).toEqual([expected]);
    const { output } = await run(`text({ nested: ${expression} })`);
    expect(JSON.parse(output)).toEqual({ nested: expected });
  });

  it('as a reason of Promise.allSettled, also from a tool', async () => {
    const source = `return await Promise.allSettled([tools.fail({ message: 'broken' }), Promise.reject(new Error('own')), tools.echo({ value: 1 })])`;
    expect(await value(source)).toEqual([
      {
        status: 'rejected',
        reason: { name: 'ToolExecutionError', message: expect.stringContaining('broken') as unknown, code: undefined },
      },
      { status: 'rejected', reason: { name: 'Error', message: 'own' } },
      { status: 'fulfilled', value: 1 },
    ]);
  });

  it('follows these rules with its members', async () => {
    const withMap = failureOf(await run('return [Object.assign(new Error("no"), { seen: new Map() })]'));
    expect(withMap.message).toContain('value[0].seen is a Map');
    const loop = 'const error: any = new Error("no"); error.self = error; return { error }';
    expect(failureOf(await run(loop)).message).toContain('value.error.self is a cycle');
    const causes =
      'let error = new Error("first"); for (let i = 0; i < 200; i++) error = new Error("next", { cause: error }); return error';
    expect(failureOf(await run(causes)).message).toContain('nested deeper than 100 levels');
  });

  it.each([
    [
      'new SuppressedError(new TypeError("late"), new RangeError("early"), "both")',
      {
        name: 'SuppressedError',
        message: 'both',
        error: { name: 'TypeError', message: 'late' },
        suppressed: { name: 'RangeError', message: 'early' },
      },
    ],
    ['Object.setPrototypeOf(new TypeError("bare"), null)', { name: 'Error', message: 'bare' }],
  ])('keeps what it says: %s', async (expression, expected) => {
    expect(await value(`return ${expression}`)).toEqual(expected);
  });

  it.each([
    [
      'new SuppressedError(new TypeError("late"), new RangeError("early"))',
      'SuppressedError: [error]: TypeError: late [suppressed]: RangeError: early',
    ],
    ['Object.setPrototypeOf(new TypeError("bare"), null)', 'Error: bare'],
  ])('has the same content when it is thrown: %s', async (expression, expected) => {
    expect(failureOf(await run(`throw ${expression}`)).message.replaceAll(/\s+/gu, ' ')).toContain(expected);
  });

  it('may have a member of any name', async () => {
    const source =
      'const error = new Error("no"); Object.defineProperty(error, "__proto__", { value: { a: 1 }, enumerable: true }); return error';
    expect(Object.keys((await value(source)) as object)).toEqual(['name', 'message', '__proto__']);
  });
});
