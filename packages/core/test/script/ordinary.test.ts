import { afterAll, describe, expect, it } from 'vitest';
import { parseSync } from 'oxc-parser';
import { createCompiler } from '#core/script/compile/compiler.js';
import { ORDINARY } from './ordinary-scripts.js';
import { compiled, run } from './running.js';

const compiler = createCompiler();
afterAll(() => compiler.close());

describe('ordinary scripts', () => {
  it('are many', () => {
    expect(ORDINARY.length).toBeGreaterThan(45);
  });

  it.each(ORDINARY)('give the answer of plain Node and no diagnostic: $name', async ({ source, answer }) => {
    const script = await compiled(compiler, source, ['readFile', 'listDir', 'exec']);
    expect(script.diagnostics).toEqual([]);
    expect(await run(script)).toEqual(answer ?? (await askNode(source)));
  });

  it.each(ORDINARY)('become exactly one function expression: $name', async ({ source }) => {
    const { javascript } = await compiled(compiler, source);
    expect(shapeOf(javascript)).toEqual(['ArrowFunctionExpression', true, 0]);
  });

  it('compile to code whose evaluation starts nothing', async () => {
    const script = await compiled(compiler, 'globalThis.started = true; return 1');
    const { createContext, runInContext } = await import('node:vm');
    const realm = createContext({});
    runInContext(script.javascript, realm);
    expect(runInContext('typeof started', realm)).toBe('undefined');
  });
});

async function askNode(source: string): Promise<unknown> {
  const AsyncFunction = (async () => {}).constructor as new (body: string) => () => Promise<unknown>;
  const value = await new AsyncFunction(`"use strict";\n${source}\n`)();
  return value === undefined ? undefined : (JSON.parse(JSON.stringify(value)) as unknown);
}

function shapeOf(javascript: string): unknown[] {
  const { program, errors } = parseSync('a.js', javascript, {
    lang: 'js',
    sourceType: 'script',
    preserveParens: false,
  });
  expect(errors).toEqual([]);
  expect(program.body.length).toBe(1);
  const [statement] = program.body;
  if (statement?.type !== 'ExpressionStatement') return [statement?.type];
  const { expression } = statement;
  return expression.type === 'ArrowFunctionExpression'
    ? [expression.type, expression.async, expression.params.length]
    : [expression.type];
}
