import { functionFor, ownMembers, type FunctionNode } from './async-callbacks.js';
import type { Finding } from './findings.js';
import type { SyntaxIndex } from './syntax-index.js';
import { isFunction } from './syntax-index.js';
import { memberName, unwrapped } from './syntax.js';
import type { Node } from './syntax.js';
import { outermost, walk, type Visit } from './walk.js';

/** They decide by what the callback returns; each with what comes of a callback that returns nothing. */
const DECIDING: ReadonlyMap<string, string> = new Map([
  ...['filter'].map((name) => [name, 'so nothing is kept'] as const),
  ...['find', 'findLast', 'findIndex', 'findLastIndex', 'some'].map((name) => [name, 'so nothing is found'] as const),
  ...['every'].map((name) => [name, 'so the answer is false'] as const),
  ...['sort', 'toSorted'].map((name) => [name, 'so nothing is put in order'] as const),
  ...['reduce', 'reduceRight'].map((name) => [name, 'so the result is undefined'] as const),
]);
const MAKING = new Set(['map', 'flatMap']);

/** Callbacks of lists that return nothing where their value is what counts: a forgotten `return`. */
export function findCallbacksWithoutValue(index: SyntaxIndex): Finding[] {
  const found = index.calls.flatMap((visit) => callbackWithoutValue(visit, index) ?? []);
  if (found.length === 0) return [];
  const own = ownMembers(index);
  return found.filter(({ method }) => !own.has(method)).map(({ finding }) => finding);
}

function callbackWithoutValue(visit: Visit, index: SyntaxIndex): { method: string; finding: Finding } | undefined {
  const { node } = visit;
  if (node.type !== 'CallExpression') return undefined;
  const callee = unwrapped(node.callee);
  const method = callee.type === 'MemberExpression' ? (memberName(callee) ?? '') : '';
  const consequence = MAKING.has(method) ? makesNothing(visit) : DECIDING.get(method);
  if (consequence === undefined) return undefined;
  const [argument] = node.arguments;
  const callback = functionFor(argument, index);
  if (callback === undefined || !returnsNothing(callback)) return undefined;
  const message = `The function given to \`${method}\` returns nothing, ${consequence}. Write \`return\` before its value.`;
  const finding: Finding = { severity: 'error', code: 'callback-value', message, offset: argument!.start };
  return { method, finding };
}

/** A list of nothing is no harm where nobody reads it. */
function makesNothing(visit: Visit): string | undefined {
  return outermost(visit).parent?.node.type === 'ExpressionStatement' ? undefined : 'so every item is undefined';
}

/** False for one that is async, or that ends by throwing: then it does not matter. */
export function returnsNothing({ async, body, type, ...callback }: FunctionNode): boolean {
  if (async || body?.type !== 'BlockStatement' || ('generator' in callback && callback.generator)) return false;
  if (body.body.some(({ type: statement }) => statement === 'ThrowStatement')) return false;
  let hasValue = false;
  walk(body as never, ({ node, parent }) => {
    if (node.type === 'ReturnStatement' && node.argument !== null) hasValue ||= !isInside(parent, body);
  });
  return !hasValue;
}

/** Whether a function of its own lies between. */
function isInside(visit: Visit | undefined, body: Node): boolean {
  for (let at = visit; at !== undefined && at.node !== body; at = at.parent) if (isFunction(at.node)) return true;
  return false;
}
