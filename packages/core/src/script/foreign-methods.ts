import { knownMembers } from './async-callbacks.js';
import type { Finding } from './findings.js';
import type { SyntaxIndex } from './syntax-index.js';
import { memberName, unwrapped, walk, type Node, type Visit } from './syntax.js';

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
  const found = index.calls.flatMap((visit) => foreignMethod(visit) ?? []);
  if (found.length === 0) return [];
  const own = knownMembers(index, toolNames);
  if (usesSearchParams(index)) own.add('append');
  return found.filter(({ method }) => !own.has(method)).map(({ finding }) => finding);
}

/** Whether the script uses URL search parameters, which have a method `append`. */
function usesSearchParams({ program }: SyntaxIndex): boolean {
  let found = false;
  walk(program, ({ node }) => {
    found ||= node.type === 'Identifier' && (node.name === 'URLSearchParams' || node.name === 'searchParams');
  });
  return found;
}

function foreignMethod({ node }: Visit): { method: string; finding: Finding } | undefined {
  if (node.type !== 'CallExpression' || node.optional) return undefined;
  const callee = unwrapped(node.callee);
  if (callee.type !== 'MemberExpression' || callee.computed || OPEN_OBJECTS.has(rootOf(callee))) return undefined;
  const method = memberName(callee) ?? '';
  const instead = FOREIGN.get(method);
  if (instead === undefined) return undefined;
  const message = `There is no method \`${method}\` in JavaScript. Write ${instead.startsWith('the ') ? instead : `\`${instead}\``}.`;
  return { method, finding: { severity: 'error', code: 'foreign-method', message, offset: callee.property.start } };
}

function rootOf(node: Node): string {
  let at = node;
  while (at.type === 'MemberExpression') at = unwrapped(at.object);
  return at.type === 'Identifier' ? at.name : '';
}
