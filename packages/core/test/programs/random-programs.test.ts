import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Harness } from '#core/index.js';
import { Conversation, openPrograms } from './conversation.js';

let harness: Harness;
beforeAll(() => (harness = openPrograms({ typecheck: 'off' })));

const MAX_SCRIPTS = 50;
/** A long campaign: `TOOLSCRIPT_PROGRAMS=400 npm test -- packages/core/test/programs/random-programs.test.ts`. */
const PROGRAMS = Number(process.env['TOOLSCRIPT_PROGRAMS'] ?? 8);

/** One statement about a name. */
interface Step {
  readonly kind: 'const' | 'let' | 'var' | 'function' | 'class' | 'assign' | 'push' | 'call';
  readonly name: string;
  readonly value: string;
}

interface Script {
  readonly steps: readonly Step[];
  readonly throws: boolean;
}

const name = fc.constantFrom('a', 'b', 'c', 'd');
const value = fc.oneof(
  fc.integer({ min: -9, max: 9 }).map(String),
  fc.constantFrom('[1, 2]', '{ n: 1 }', 'new Map([[1, [2]]])', "'text'", 'null', 'undefined', '1n', 'new Set([3])'),
  name,
  name.map((other) => `[${other}, ${other}]`),
  name.map((other) => `() => ${other}`),
);
const kind = fc.constantFrom<Step['kind']>(
  'const',
  'let',
  'var',
  'function',
  'class',
  'assign',
  'push',
  'call',
  'call',
);
const script: fc.Arbitrary<Script> = fc
  .record({
    steps: fc.array(fc.record({ kind, name, value }), { minLength: 1, maxLength: 5 }),
    throws: fc.boolean(),
  })
  .map(({ steps, throws }) => ({ steps: valid(steps), throws }));

const declares = ({ kind: one }: Step) => one !== 'assign' && one !== 'push' && one !== 'call';

/** Without a second declaration of a name, and without a statement that uses a name before its declaration. */
function valid(steps: readonly Step[]): Step[] {
  const once = steps.filter(
    (step, index) => !declares(step) || !steps.slice(0, index).some((one) => declares(one) && one.name === step.name),
  );
  return once.filter((step, index) => {
    const later = once.slice(index).filter(declares);
    const used = declares(step) ? [] : [step.name];
    return !later.some((one) => used.includes(one.name) || new RegExp(`\\b${one.name}\\b`, 'u').test(step.value));
  });
}

function code({ kind: one, name: target, value: given }: Step): string {
  switch (one) {
    case 'assign':
      return `try { ${target} = ${given} } catch (error) { log(error.constructor.name) }`;
    case 'push':
      return `if (Array.isArray(${target})) ${target}.push(${target}.length); else log(typeof ${target});`;
    case 'function':
      return `function ${target}() { return [typeof this, ${given}] }`;
    case 'class':
      return `class ${target} { #secret = ${given}; get secret() { return this.#secret } }`;
    case 'call':
      return `try { log(typeof ${target} === 'function' ? show(${target}?.()) : show(${target})) } catch (error) { log(error.constructor.name) }`;
    default:
      return `${one} ${target} = ${given};`;
  }
}

const codeOf = ({ steps }: Script) => steps.map(code).join('\n');

const PRELUDE = `let shown = []; const log = (text) => { shown.push(text) };
const show = (value, depth = 0) => {
  if (depth > 3) return '…';
  if (Array.isArray(value)) return '[' + value.map((one) => show(one, depth + 1)).join() + ']';
  if (value instanceof Map) return 'map' + show([...value], depth + 1);
  if (value instanceof Set) return 'set' + show([...value], depth + 1);
  if (typeof value === 'object' && value !== null) return 'object' + Object.keys(value).join();
  return typeof value === 'function' ? 'function' : typeof value + String(value);
};
const report = () => { const text = shown.join('|'); shown = []; return text };
let a = 1, b = [2], c = new Map(), d = () => 4;`;

async function inScripts(program: readonly Script[]): Promise<string[]> {
  const talk = new Conversation(harness);
  await talk.run(PRELUDE);
  const ends: string[] = [];
  for (const one of program) {
    const { status } = await talk.run(`${codeOf(one)}\n${one.throws ? "throw new Error('thrown')" : 'return 1'}`);
    ends.push(`${status} ${String(await talk.value('return report()'))}`);
  }
  return ends;
}

/** Each script is a function inside the function of the script before it. */
function inOneProgram(program: readonly Script[]): string[] {
  const ends: string[] = [];
  const nested = program.reduceRight(
    (inner, one) =>
      `${codeOf(one)}\nend('${one.throws ? 'failed' : 'completed'} ' + report());\n(() => {\n${inner}\n})()`,
    '',
  );
  runInNewContext(`'use strict';(() => { ${PRELUDE}\n(() => {\n${nested}\n})() })()`, {
    end: (text: string) => ends.push(text),
  });
  return ends;
}

describe('a random program', () => {
  it(
    'in many scripts does what one program in Node does',
    async () => {
      const programs = fc.array(script, { minLength: 1, maxLength: MAX_SCRIPTS });
      await fc.assert(
        fc.asyncProperty(programs, async (program) => {
          expect(await inScripts(program)).toEqual(inOneProgram(program));
        }),
        { numRuns: PROGRAMS },
      );
    },
    30_000 * PROGRAMS,
  );
});
