import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '#core/tools/define-tool.js';
import { failureOf, openHarness, sharedHarness, valueOf } from './open-harness.js';

const { harness } = sharedHarness();

const run = (source: string) => harness.runScript(source);
const value = async (source: string) => valueOf(await run(source));

/** Guest expressions of values that JSON would lose, with the message for the script. */
const REFUSED: readonly (readonly [expression: string, told: string])[] = [
  ['[1].values()', 'an Iterator; use [...iterator]'],
  ['new Map().entries()', 'an Iterator; use [...iterator]'],
  ['"a".matchAll(/a/g)', 'an Iterator; use [...iterator]'],
  ['[1].values().map((n) => n)', 'an Iterator; use [...iterator]'],
  ['(function* () {})()', 'an Iterator; use [...iterator]'],
  ['(async function* () {})()', 'an AsyncIterator; collect it with for await'],
  ['Promise.resolve(1)', 'a Promise that was not awaited'],
  ['new DataView(new ArrayBuffer(2))', 'a DataView'],
  ['new Headers({ a: "1" })', 'a Headers; use Object.fromEntries(headers)'],
  ['/a/', 'a RegExp; use String(pattern) or pattern.source'],
  ['new URLSearchParams("a=1")', 'a URLSearchParams; use String(params)'],
  ['new WeakMap()', 'a WeakMap'],
  ['new WeakSet()', 'a WeakSet'],
  ['new WeakRef({})', 'a WeakRef; use ref.deref()'],
  ['new Intl.NumberFormat()', 'a NumberFormat'],
  ['new TextDecoder()', 'a TextDecoder'],
  ['Object(1n)', 'a BigInt'],
  ['Symbol("s")', 'a Symbol'],
  ['() => 1', 'a function'],
];

/** Guest expressions of bytes, with the form in a value and the message where a tool does not take base64. */
const BYTES: readonly (readonly [expression: string, form: unknown, told: string])[] = [
  [
    'new Uint8Array(2)',
    { type: 'Uint8Array', length: 2 },
    'a Uint8Array; for text use new TextDecoder().decode(bytes), for base64 bytes.toBase64()',
  ],
  [
    'new TextEncoder().encode("text")',
    { type: 'Uint8Array', length: 4 },
    'a Uint8Array; for text use new TextDecoder().decode(bytes)',
  ],
  [
    'new ArrayBuffer(2)',
    { type: 'ArrayBuffer', length: 2 },
    'an ArrayBuffer; for text use new TextDecoder().decode(buffer)',
  ],
  [
    'Buffer.from("text")',
    { type: 'Buffer', length: 4 },
    'a Buffer; for text use buffer.toString(), for base64 buffer.toString("base64")',
  ],
  ['Buffer.from("text").subarray(1)', { type: 'Buffer', length: 3 }, 'a Buffer; for text use buffer.toString()'],
];

describe('bytes', () => {
  it.each(BYTES)('are their type and length in a value: %s', async (expression, form) => {
    expect(await value(`const made: any = ${expression}; return { a: [0, made] }`)).toEqual({ a: [0, form] });
  });

  it.each(BYTES)('are rejected with their path in arguments that take no base64: %s', async (expression, _, told) => {
    const source = `const made: any = ${expression};
      return await tools.echo({ value: { a: [0, made] } }).catch((error) => [error.name, error.message]);`;
    const [name, message] = (await value(source)) as [string, string];
    expect(name).toBe('ToolValidationError');
    expect(message).toContain(`args.value.a[1]: ${told}`);
  });

  const upload = (data: object) =>
    openHarness({
      tools: [
        defineTool({
          name: 'upload',
          description: 'x',
          effect: 'read',
          inputSchema: {
            type: 'object',
            properties: { data, parts: { type: 'array', items: data }, name: { type: 'string' } },
          },
          execute: (input: unknown) => input,
        } as never),
      ],
    });

  it.each([
    { type: 'string', contentEncoding: 'base64' },
    { type: 'string', format: 'byte' },
    { anyOf: [{ type: 'null' }, { type: 'string', contentEncoding: 'base64' }] },
  ])('are base64 text in arguments whose schema says so: %j', async (schema) => {
    const harness = upload(schema);
    const source = `const data = new TextEncoder().encode('hi');
      return await tools.upload({ data, parts: [data, Buffer.from('hi').toString('base64')] });`;
    expect(valueOf(await harness.runScript(source))).toEqual({ data: 'aGk=', parts: ['aGk=', 'aGk='] });
    const wrong = await harness.runScript(`return await tools.upload({ name: new Uint8Array(1) as any })`);
    expect(failureOf(wrong).message).toContain('args.name: a Uint8Array');
  });

  it('are declared where a schema takes them, and never in a result', () => {
    const schema = { type: 'string', contentEncoding: 'base64' };
    expect(upload(schema).declarations()).toContain('data?: string | Uint8Array');
    expect(upload({ type: 'string' }).declarations()).not.toContain('Uint8Array | ');
  });

  it('are at most 16 members of one call', async () => {
    const harness = upload({ type: 'string', contentEncoding: 'base64' });
    const source = (count: number) =>
      `return (await tools.upload({ parts: Array.from({ length: ${count} }, () => new Uint8Array(1)) })).parts.length`;
    expect(valueOf(await harness.runScript(source(16)))).toBe(16);
    expect(failureOf(await harness.runScript(source(17))).message).toContain('args.parts[16]: a Uint8Array');
  });
});

/** Guest expressions of values that JSON does not have, with the form that leaves the script. */
const FORMS: readonly (readonly [expression: string, form: unknown])[] = [
  ['new Map([["a", 1]])', { a: 1 }],
  ['new Map()', {}],
  [
    'new Map<unknown, unknown>([[1, "a"], ["b", new Map([["c", 2n]])]])',
    [
      [1, 'a'],
      ['b', { c: 2 }],
    ],
  ],
  ['new (class Named extends Map {})([["a", 1]])', { a: 1 }],
  ['new Set([1, new Set([2])])', [1, [2]]],
  ['[7n, 2n ** 53n, -(2n ** 53n) + 1n]', [7, '9007199254740992', -9007199254740991]],
  ['new Float64Array([1.5, 2])', [1.5, 2]],
  ['new BigInt64Array([1n])', [1]],
];

describe('JSON.parse', () => {
  it.each([
    ['{ a: [1] }', { a: [1] }],
    ['[1, 2]', [1, 2]],
    ['[5]', [5]],
    ['"[5]"', [5]],
    ['new String("[5]")', [5]],
    ['5', 5],
    ['{ toString: () => "[6]" }', [6]],
  ])('returns data as it is, and reads texts: %s', async (given, expected) => {
    expect(await value(`const given: any = ${given}; return JSON.parse(given)`)).toEqual(expected);
  });

  it.each(['Promise.resolve(1)', 'new Map()', 'Object.create(null)', 'undefined', '"{"'])(
    'throws for another value: %s',
    async (given) => {
      const source = `const given: any = ${given}; try { JSON.parse(given); return 'read' } catch { return 'thrown' }`;
      expect(await value(source)).toBe('thrown');
    },
  );

  it('reads the result of a tool, which is data', async () => {
    expect(await value('return JSON.parse((await tools.echo({ value: { a: 1 } })) as any).a')).toBe(1);
    expect(await value("return JSON.parse('[1, 2]', (_, each) => (each === 2 ? 3 : each))")).toEqual([1, 3]);
  });
});

describe('a value of the language has a form in JSON', () => {
  it.each(FORMS)('in a value: %s', async (expression, form) => {
    expect(await value(`const made: any = ${expression}; return { a: [0, made] }`)).toEqual({ a: [0, form] });
    expect(await value(`const made: any = ${expression}; return made`)).toEqual(form);
  });

  it.each(FORMS)('in arguments: %s', async (expression, form) => {
    const source = `const made: any = ${expression}; return await tools.echo({ value: { a: [0, made] } });`;
    expect(await value(source)).toEqual({ a: [0, form] });
  });

  it('in a value that holds itself: a text with its place', async () => {
    expect(await value('const a: any = { b: [1] }; a.b.push(a, a.b); return { a }')).toEqual({
      a: { b: [1, '[cycle: value.a]', '[cycle: value.a.b]'] },
    });
    expect(await value('const m = new Map(); m.set("m", m); return m')).toEqual({ m: '[cycle: value]' });
  });

  it('but not if it only inherits from the class', async () => {
    const source = 'return [Object.create(Map.prototype), 1]';
    expect(failureOf(await run(source))).toMatchObject({ code: 'SerializationError', metadata: { path: 'value[0]' } });
  });
});

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
    expect(await value('return [Object.assign(new Error("no"), { seen: new Map() })]')).toMatchObject([{ seen: {} }]);
    const loop = 'const error: any = new Error("no"); error.self = error; return { error }';
    expect(await value(loop)).toMatchObject({ error: { self: '[cycle: value.error]' } });
    const passed = loop.replace('return { error }', 'return await tools.echo({ value: { error } })');
    expect(failureOf(await run(passed)).message).toContain('args.value.error.self: a cycle');
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

const loopIn = (made: { self?: unknown }) => {
  made.self = made;
  return { a: made };
};

/** Results of a tool, each with the value that the script gets and the note. */
const CONVERTED: readonly (readonly [what: string, make: () => unknown, expected: unknown, note: string])[] = [
  ['a Map with text as keys', () => new Map([['a', 1]]), { a: 1 }, 'result was a Map; it became an object.'],
  ['another Map', () => new Map([[1, 'a']]), [[1, 'a']], 'result was a Map; it became a list of pairs.'],
  ['a Set', () => ({ s: new Set([1, 2]) }), { s: [1, 2] }, 'result.s was a Set; it became a list.'],
  ['a BigInt', () => [7n], [7], 'result[0] was a BigInt; it became a number.'],
  ['a large BigInt', () => 2n ** 70n, String(2n ** 70n), 'result was a BigInt; it became text with its digits.'],
  [
    'bytes',
    () => new Uint8Array([104, 105]).subarray(1),
    'aQ==',
    'result was a Uint8Array; it became its base64 text.',
  ],
  ['a Buffer', () => ({ b: Buffer.from('hi') }), { b: 'aGk=' }, 'result.b was a Buffer; it became its base64 text.'],
  [
    'a cycle',
    () => loopIn({}),
    { a: { self: '[cycle: result.a]' } },
    'result.a.self was result.a itself; it became "[cycle: result.a]".',
  ],
  [
    'a tree whose nodes know what is above them',
    familyTree,
    {
      name: 'root',
      children: Array.from({ length: 20 }, (_, index) => ({ name: `child ${index}`, parent: '[cycle: result]' })),
    },
    'result.children[0].parent was result itself; it became "[cycle: result]".',
  ],
  [
    'a Map in a Map',
    () => new Map([['m', new Map([['n', 1n]])]]),
    { m: { n: 1 } },
    'result was a Map; it became an object.',
  ],
];

/** A tree whose nodes know what is above them. */
function familyTree(): object {
  const root = { name: 'root', children: [] as object[] };
  for (let index = 0; index < 20; index++) root.children.push({ name: `child ${index}`, parent: root });
  return root;
}

/** Results of a tool, each with the reason why the script gets an error instead. */
const LOST: readonly (readonly [what: string, make: () => unknown, reason: string])[] = [
  ['a Response', () => ({ body: new Response('x') }), 'result.body is a Response, which JSON cannot represent'],
  ['a Blob', () => [new Blob(['x'])], 'result[0] is a Blob'],
  ['a stream', () => new ReadableStream(), 'result is a ReadableStream'],
  ['a generator', () => ({ g: (function* () {})() }), 'result.g is'],
  ['a pattern', () => /a/u, 'result is a RegExp'],
  [
    'an object with getters only',
    () =>
      new (class Private {
        get x() {
          return 1;
        }
      })(),
    'result is a Private',
  ],
  ['a Promise in a member', () => ({ p: Promise.resolve(1) }), 'result.p is a Promise that was not awaited'],
  ['a Map with __proto__', () => new Map([['__proto__', 1]]), '__proto__'],
];

function toolReturning(make: () => unknown) {
  const given = defineTool({ name: 'given', description: 'x', effect: 'read', inputSchema: {}, execute: make });
  return openHarness({ tools: [given] });
}

describe("a tool's result that JSON does not have", () => {
  it.each(CONVERTED)('is converted, and noted: %s', async (_what, make, expected, note) => {
    const outcome = await toolReturning(make).runScript('return await tools.given({})');
    expect(valueOf(outcome)).toEqual(expected);
    expect(outcome.diagnostics.map(({ message }) => message)).toContain(`tools.given: ${note}`);
    expect(outcome.operations[0]).toMatchObject({ status: 'completed', result: expected });
  });

  it.each(LOST)('is refused with its path instead of an empty object: %s', async (_what, make, reason) => {
    const outcome = await toolReturning(make).runScript('return await tools.given({})');
    expect(failureOf(outcome)).toMatchObject({ code: 'ToolExecutionError' });
    expect(failureOf(outcome).message).toContain(reason);
  });

  it('that holds itself in too many places is refused', async () => {
    const doubled = (): object => {
      let at: object = loopIn({});
      for (let level = 0; level < 60; level++) at = { left: at, right: at };
      return at;
    };
    const outcome = await toolReturning(doubled).runScript('return await tools.given({})');
    expect(failureOf(outcome).message).toContain('holds more than');
  });

  it('fits its output schema after the conversion', async () => {
    const tool = defineTool({
      name: 'given',
      description: 'x',
      effect: 'read',
      inputSchema: {},
      output: z.object({ pixels: z.string(), seen: z.array(z.number()) }),
      execute: () => ({ pixels: Buffer.from('hi'), seen: new Set([1]) }) as never,
    });
    const outcome = await openHarness({ tools: [tool] }).runScript('return await tools.given({})');
    expect(valueOf(outcome)).toEqual({ pixels: 'aGk=', seen: [1] });
  });
});

describe("a tool's error", () => {
  it.each([
    [
      'the code of its cause',
      Object.assign(new Error('fetch failed', { cause: { code: 'ECONNREFUSED' } })),
      'fetch failed (ECONNREFUSED)',
    ],
    [
      'the codes of the errors that it holds',
      new AggregateError([{ code: 'EPIPE' }, { code: 'secret text' }], 'all'),
      'all (EPIPE)',
    ],
    ['its status', Object.assign(new Error('refused'), { status: 403 }), 'refused (status 403)'],
    ['a status once', Object.assign(new Error('code 404'), { status: 404 }), 'code 404'],
    ['no text of its cause', new Error('plain', { cause: new Error('secret') }), 'plain'],
  ])('has beside its message %s', async (_what, error, message) => {
    const outcome = await toolReturning(() => {
      throw error;
    }).runScript('return await tools.given({}).catch((error) => error.message)');
    expect(valueOf(outcome)).toBe(message);
  });
});
