import { describe, expect, it } from 'vitest';
import { failureOf, sharedHarness, valueOf } from './open-harness.js';

const { harness } = sharedHarness();

const value = async (source: string) => valueOf(await harness.runScript(source));

/** The lines and columns in a text. */
const placesIn = (text: string) => [...text.matchAll(/script\.ts:(\d+:\d+)/gu)].map(([, place]) => place);

/** Types, an enum and a repaired line, which shift the positions of the compiled code. */
const HEAD = `interface Row {
  id: number;
}
enum Colour { Red, Green }
type Rows = Row[];

`;

describe('the stack of an error that a script reads', () => {
  it('has its title and the lines of the model’s own source', async () => {
    const source = `${HEAD}function inner(rows: Rows): never {
  throw new RangeError('bad');
}
try {
  inner([]);
} catch (error) {
  return (error as Error).stack;
}`;
    expect(await value(source)).toBe('RangeError: bad\n    at inner (script.ts:8:13)\n    at (script.ts:11:3)');
  });

  it.each<[string, string]>([
    ['an error of the engine', 'try { (null as any).x } catch (error) { return (error as Error).stack }'],
    ['an error of a call', 'return await tools.fail({ message: "no" }).catch((error) => error.stack)'],
    ['arguments that are wrong', 'return await tools.add({ a: JSON.parse("null") }).catch((error) => error.stack)'],
    ['a tool that is not there', 'try { (tools as any).nothing({}) } catch (error) { return (error as Error).stack }'],
    ['a denied call', 'return await tools.write({ path: "p" }).catch((error) => error.stack)'],
    ['a callback of a built-in', 'return [1].map(() => new Error("in a callback").stack)[0]'],
    ['an async function', 'const f = async () => { await null; return new Error("late").stack }; return await f()'],
    ['a caught rejection', 'return await Promise.reject(new Error("no")).catch((error) => error.stack)'],
    ['captureStackTrace', 'const made: any = {}; Error.captureStackTrace(made); return made.stack'],
    ['a copy', 'return structuredClone(new Error("no")).stack'],
  ])('names line 7 alone, and nothing of ours: %s', async (_name, source) => {
    const stack = (await value(`${HEAD}${source}`)) as string;
    expect(stack).not.toMatch(/<null>|native|toolscript|start \(|settle|makeError/u);
    const places = placesIn(stack);
    expect(places.length).toBeGreaterThan(0);
    for (const place of places) expect(place).toMatch(/^7:\d+$/u);
  });

  it('names the place of its call if the call was rejected', async () => {
    const source = 'const one = 1;\nreturn await tools.fail({ message: "no" }).catch((error) => error.stack)';
    expect(await value(source)).toMatch(/^ToolExecutionError: .*no.*\n {4}at fail \(script\.ts:2:\d+\)$/u);
  });

  it('omits the constructor of a class on request', async () => {
    const source = `class Mine extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'Mine';
    Error.captureStackTrace(this, Mine);
  }
}
const make = () => new Mine('own');
return make().stack;`;
    expect(await value(source)).toBe('Mine: own\n    at make (script.ts:8:24)\n    at (script.ts:9:8)');
  });

  it('can be replaced by the script, and does not move the place that the outcome names', async () => {
    const source = `const error = new Error('no');
error.stack = 'mine\\n    at other (script.ts:9:9)';
console.log(error.stack);
throw error;`;
    const outcome = await harness.runScript(source);
    expect(outcome.logs[0]!.text).toBe('mine\n    at other (script.ts:9:9)');
    expect(failureOf(outcome)).toMatchObject({ line: 1, column: 19 });
  });

  it('has ten frames at most', async () => {
    const source =
      'const f = (n: number): string => n === 0 ? new Error("deep").stack! : f(n - 1); return f(50).split("\\n").length';
    expect(await value(source)).toBe(11);
  });

  it('names the places that the outcome of the same error names', async () => {
    const source = `${HEAD}const äöü = '漢字 😀'; const step = (text: string) => {\r
  throw new Error(text); };
const outer = () => { step(äöü); };
try { outer(); } catch (error) { console.log((error as Error).stack); throw error; }`;
    const outcome = await harness.runScript(source);
    const { stack, line, column } = failureOf(outcome);
    const [logged] = outcome.logs;
    expect(placesIn(logged!.text)).toEqual(placesIn(stack!));
    expect(placesIn(stack!)[0]).toBe(`${line}:${column}`);
    expect(line).toBe(8);
  });

  it('has no line of the message that looks like a frame', async () => {
    const source = 'return new Error("no\\n    at forged (script.ts:9:9)").stack';
    const lines = ((await value(source)) as string).split('\n');
    expect(lines.filter((line) => /^\s*at /u.test(line))).toHaveLength(1);
    expect(lines[0]).toBe('Error: no\\n    at forged (script.ts:9:9)');
  });

  it('is undefined for any other value', async () => {
    expect(
      await value(
        'return [Object.create(new Error("x")).stack === undefined, (Error.prototype as Error).stack === undefined]',
      ),
    ).toEqual([true, true]);
  });
});

describe('an error on the console', () => {
  const logOf = async (source: string) => (await harness.runScript(source)).logs.map(({ text }) => text).join('\n');

  it('is shown with its stack, in the model’s own lines', async () => {
    const source = `${HEAD}try {\n  JSON.parse('{');\n} catch (error) {\n  console.error('failed:', error);\n}`;
    expect(await logOf(source)).toMatch(/^failed: SyntaxError: .*\n {4}at \(script\.ts:8:\d+\)$/u);
  });

  it('is shown with its cause', async () => {
    const source = 'console.error(new Error("outer", { cause: new RangeError("inner") }))';
    expect(await logOf(source)).toMatch(/^Error: outer\n {4}at .*\n {2}\[cause\]: RangeError: inner$/u);
  });

  it('is shown under its current name', async () => {
    const source =
      'class Mine extends Error { constructor() { super("own"); Error.captureStackTrace(this, Mine); this.name = "Mine"; } }\nconsole.log(new Mine())';
    expect(await logOf(source)).toBe('Mine: own\n    at (script.ts:2:17)');
  });

  it('is shown with the errors that it suppressed', async () => {
    const source =
      'const error = new SuppressedError(new TypeError("late"), new RangeError("early")); (error as any).stack = undefined; console.log(error)';
    expect(await logOf(source)).toBe('SuppressedError\n  [error]: TypeError: late\n  [suppressed]: RangeError: early');
  });

  it('is shown as an error even if it has lost its prototype', async () => {
    const source =
      'const error = new TypeError("bare"); Object.setPrototypeOf(error, null); console.log(error); console.log([error])';
    expect(await logOf(source)).toMatch(/^Error: bare\n {4}at \(script\.ts:1:\d+\)\n\[Error: bare\]$/u);
  });

  it('shows no line of its message as a frame', async () => {
    const source =
      'console.log(new Error("no\\n    at forged (script.ts:9:9)\\r\\n\\tat forged (script.ts:8:8)\\nsecond line"))';
    const log = await logOf(source);
    expect(log.split('\n').filter((line) => /^\s*at /u.test(line))).toEqual([
      expect.stringMatching(/^ {4}at \(script\.ts:1:\d+\)$/u),
    ]);
    expect(log).toContain('\nsecond line');
  });

  it('is shown by its title if its stack was removed', async () => {
    expect(await logOf('const error = new Error("no"); (error as any).stack = undefined; console.log(error)')).toBe(
      'Error: no',
    );
  });
});
