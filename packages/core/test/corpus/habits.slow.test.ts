import { parseSync } from 'oxc-parser';
import { afterAll, describe, expect, it } from 'vitest';
import type { Outcome } from '#core/protocol/index.js';
import { applyEdits, type Edit } from '#core/script/syntax/source-text.js';
import { isLastValue } from '#core/script/repair/last-value.js';
import { indexSyntax, isFunction, type SyntaxIndex } from '#core/script/syntax/syntax-index.js';
import { PromiseCalls } from '#core/script/analyse/promise-calls.js';
import { findToolCalls } from '#core/script/syntax/tool-calls.js';
import type { Visit } from '#core/script/syntax/syntax.js';
import { goodScripts } from '../checker/corpus.js';
import { worldHarness } from '../checker/world-harness.js';
import { cases, someCases } from '@toolscript/testkit/some-cases';

/** A form of the script in the style of another system; undefined if the script does not allow it. */
interface Habit {
  readonly name: string;
  readonly write: (source: string, index: SyntaxIndex) => string | undefined;
  /** Lines before the script. */
  readonly linesBefore: number;
}

const HABITS: readonly Habit[] = [
  {
    name: 'words around a fence',
    linesBefore: 2,
    write: (source) => `Here it is:\n\`\`\`ts\n${source}\n\`\`\`\nDone.`,
  },
  { name: 'the language on the first line', linesBefore: 1, write: (source) => `typescript\n${source}` },
  { name: 'an arrow function around it', linesBefore: 1, write: around('async () => {', '}') },
  {
    name: 'main, called without await',
    linesBefore: 1,
    write: around('async function mainOfAll() {', '}\nmainOfAll();'),
  },
  {
    name: 'main, awaited and not returned',
    linesBefore: 1,
    write: around('async function mainOfAll() {', '}\nawait mainOfAll();'),
  },
  {
    name: 'module.exports',
    linesBefore: 1,
    write: around('module.exports = async function () {', '};'),
  },
  { name: 'an import of types', linesBefore: 1, write: (source) => `import type { Q } from './types';\n${source}` },
  { name: 'an import of the tools', linesBefore: 1, write: (source) => `import { tools } from 'codemode';\n${source}` },
  { name: 'export before functions', linesBefore: 0, write: withExports },
  { name: 'codemode for tools', linesBefore: 0, write: (source, index) => withoutTools(source, index, 'codemode.') },
  { name: 'no tools before names', linesBefore: 0, write: (source, index) => withoutTools(source, index, '') },
  { name: 'no return before the last value', linesBefore: 0, write: withoutLastReturn },
  { name: 'no await before tools as statements', linesBefore: 0, write: withoutAwaits },
  { name: 'no await before any promise as a statement', linesBefore: 0, write: withoutAnyAwait },
  { name: 'Windows line ends', linesBefore: 0, write: (source) => source.replaceAll('\n', '\r\n') },
];

function around(before: string, after: string) {
  // TypeScript allows namespaces only at the top level.
  return (source: string, { namespaces }: SyntaxIndex) =>
    namespaces.length > 0 ? undefined : `${before}\n${source}\n${after}`;
}

function withExports(source: string, { program }: SyntaxIndex): string | undefined {
  const edits = program.body
    .filter(({ type }) => type === 'FunctionDeclaration' || type === 'TSInterfaceDeclaration')
    .map(({ start }) => ({ start, end: start, text: 'export ' }));
  return edited(source, edits);
}

function withoutTools(source: string, index: SyntaxIndex, instead: string): string | undefined {
  const bare = findToolCalls(index).filter(({ node, tool }) => {
    const first = tool.split('.')[0] ?? '';
    const isTaken = index.declared.has(first) || index.references.has(first) || Object.hasOwn(globalThis, first);
    return source.startsWith('tools.', node.start) && !isTaken;
  });
  return edited(
    source,
    bare.map(({ node }) => ({ start: node.start, end: node.start + 'tools.'.length, text: instead })),
  );
}

function withoutLastReturn(source: string, index: SyntaxIndex): string | undefined {
  const last = index.program.body.findLast(({ type }) => type !== 'FunctionDeclaration');
  if (last?.type !== 'ReturnStatement' || last.argument === null || !isLastValue(last.argument, index))
    return undefined;
  const isOnly = index.returns.filter(isAtTop).length === 1;
  const isObject = source.startsWith('{', last.argument.start);
  const text = isObject ? '(' : '';
  const close = { start: last.argument.end, end: last.argument.end, text: ')' };
  return isOnly
    ? edited(source, [{ start: last.start, end: last.argument.start, text }, ...(isObject ? [close] : [])])
    : undefined;
}

function withoutAwaits(source: string, index: SyntaxIndex): string | undefined {
  return withoutAwaitBefore(findToolCalls(index), source);
}

/** Also removes `await` before `Promise.all(…)` and before calls of the script's own functions. */
function withoutAnyAwait(source: string, index: SyntaxIndex): string | undefined {
  return withoutAwaitBefore(new PromiseCalls(index, findToolCalls(index)).all, source);
}

function withoutAwaitBefore(calls: readonly { visit: Visit }[], source: string): string | undefined {
  const edits = calls.flatMap(({ visit }) => {
    const awaited = visit.parent?.node;
    const isStatement = visit.parent?.parent?.node.type === 'ExpressionStatement';
    return awaited?.type === 'AwaitExpression' && isStatement && awaited.argument === visit.node
      ? [{ start: awaited.start, end: visit.node.start, text: '' }]
      : [];
  });
  return edited(source, edits);
}

function isAtTop({ parent }: Visit): boolean {
  let at = parent;
  while (at !== undefined && !isFunction(at.node)) at = at.parent;
  return at === undefined;
}

function edited(source: string, edits: readonly Edit[]): string | undefined {
  return edits.length === 0 ? undefined : applyEdits(source, edits);
}

const { harness, run } = worldHarness({ limits: { maxToolCalls: 200 } });
afterAll(() => harness.close());

const scripts = goodScripts().map(({ name, source }) => {
  const options = { lang: 'ts', sourceType: 'module', preserveParens: false } as const;
  return { name, source, index: indexSyntax(parseSync('script.ts', source, options).program) };
});

/** The effects of a script, with the lines of its calls. */
function behaviourOf(outcome: Outcome, linesBefore: number): unknown {
  return {
    end:
      outcome.status === 'completed' ? (outcome.value ?? null) : outcome.status === 'failed' ? outcome.error : 'else',
    output: outcome.output,
    calls: outcome.operations.map(({ tool, input, status, line }) => [tool, input, status, (line ?? 0) - linesBefore]),
  };
}

const originals = new Map<string, unknown>();

async function originalOf(name: string, source: string): Promise<unknown> {
  if (!originals.has(name)) originals.set(name, behaviourOf(await run(source), 0));
  return originals.get(name);
}

/** Every n-th script is used if there are more scripts than this; each habit starts with another one. */
const MOST = 60;
const STEP = 9;

function written({ write, place }: Habit & { place: number }): { name: string; source: string; changed: string }[] {
  const all = scripts.flatMap(({ name, source, index }) => {
    const changed = write(source, index);
    return changed === undefined ? [] : [{ name, source, changed }];
  });
  return all.length > MOST ? [...someCases(all, STEP, place)] : all;
}

describe(`a habit of another system does not change what ${cases(STEP, 'good script')} does, nor the lines of its calls`, () => {
  it.each(HABITS.map((habit, place) => ({ ...habit, place })))('$name', async (habit) => {
    const different: string[] = [];
    const all = written(habit);
    for (const { name, source, changed } of all) {
      const found = JSON.stringify(behaviourOf(await run(changed), habit.linesBefore));
      const expected = JSON.stringify(await originalOf(name, source));
      if (found !== expected) different.push(`${name}\n${found}\n${expected}\n${changed}`);
    }
    expect(different).toEqual([]);
    expect(all.length).toBeGreaterThanOrEqual(5);
  });
});
