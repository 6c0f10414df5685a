import { methodFindings, type Finding, type MethodFinding } from './findings.js';
import type { SyntaxIndex } from '../syntax/syntax-index.js';
import { rootNode } from '../syntax/own-functions.js';
import { memberName, innerExpression, walk, type Node } from '../syntax/syntax.js';

/**
 * Methods of other languages that lists, strings and plain objects of JavaScript lack, with their replacements. Results
 * of tools are data and have no methods of their own, so a call of such a method throws.
 */
const FOREIGN: ReadonlyMap<string, string> = new Map(
  Object.entries({
    append: '.push(item)',
    extend: '.push(...items)',
    contains: '.includes(item)',
    containsKey: 'key in object` or, for a Map, `.has(key)',
    has_key: 'key in object` or, for a Map, `.has(key)',
    isEmpty: '.length === 0',
    is_empty: '.length === 0',
    len: '.length',
    size: '.length` or, for a Map or Set, `.size',
    items: 'Object.entries(object)',
    iteritems: 'Object.entries(object)',
    strip: '.trim()',
    lstrip: '.trimStart()',
    rstrip: '.trimEnd()',
    lower: '.toLowerCase()',
    upper: '.toUpperCase()',
    downcase: '.toLowerCase()',
    upcase: '.toUpperCase()',
    startswith: '.startsWith(text)',
    endswith: '.endsWith(text)',
    equals: '===',
    getOrDefault: 'object[key] ?? value',
    setdefault: 'object[key] ??= value',
    each: '.forEach(…)',
    collect: '.map(…)',
    where: '.filter(…)',
    first: '[0]',
    last: '.at(-1)',
    count: '.length',
    unwrap: 'the value itself',
    toList: 'the list itself, or `Array.from(items)`',
    to_s: 'String(value)',
    to_i: 'Number(value)',
  }),
);
/** Objects with unknown members. */
const OPEN_OBJECTS = new Set(['tools', 'catalog', 'context', 'console', 'globalThis']);

/** Reports calls of another language's methods: `rows.append(x)`. */
export function findForeignMethods(index: SyntaxIndex, toolNames: readonly string[]): Finding[] {
  let hasAppend: boolean | undefined;
  return methodFindings(index, toolNames, ({ node }) => {
    const finding = foreignMethod(node);
    if (finding?.method === 'append') hasAppend ??= usesSearchParams(index);
    return finding?.method === 'append' && hasAppend ? undefined : finding;
  });
}

/** Whether the script uses URL search parameters, which have a method `append`. */
function usesSearchParams({ program }: SyntaxIndex): boolean {
  let isUsed = false;
  walk(program, ({ node }) => {
    isUsed ||= node.type === 'Identifier' && (node.name === 'URLSearchParams' || node.name === 'searchParams');
  });
  return isUsed;
}

function isOpenObject(node: Node): boolean {
  return node.type === 'Identifier' && OPEN_OBJECTS.has(node.name);
}

function foreignMethod(node: Node): MethodFinding | undefined {
  if (node.type !== 'CallExpression' || node.optional) return undefined;
  const callee = innerExpression(node.callee);
  if (callee.type !== 'MemberExpression' || callee.computed || isOpenObject(rootNode(callee))) return undefined;
  const method = memberName(callee) ?? '';
  const instead = FOREIGN.get(method);
  if (instead === undefined) return undefined;
  const message = `There is no method \`${method}\` in JavaScript. Write ${instead.startsWith('the ') ? instead : `\`${instead}\``}.`;
  return { method, finding: { severity: 'error', code: 'foreign-method', message, offset: callee.property.start } };
}
