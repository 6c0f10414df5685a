import type { FunctionNode } from '../syntax/own-functions.js';
import { isFunction, type SyntaxIndex } from '../syntax/syntax-index.js';
import {
  isWritten,
  memberName,
  outermost,
  innerExpression,
  type Node,
  type NodeOf,
  type Visit,
} from '../syntax/syntax.js';
import { memberPath, type ToolCall } from '../syntax/tool-calls.js';

/** An expression that converts a tool's result, or a member of the result, to text or to a number. */
export interface ResultText {
  readonly becomes: 'text' | 'number';
  readonly offset: number;
  readonly tool: string;
  /** The members between the result and the converted value. */
  readonly path: readonly (string | number)[];
  /** True if the text is only logged to the console. */
  readonly isLogged: boolean;
}

/**
 * Finds `${result}`, `'…' + result.user`, `rows.join()` and `result - 1`, if the value is certainly the awaited result of one call or
 * a part of that result. The value may be a variable, a destructured member, or the item of a loop or a callback.
 */
export function findResultTexts(index: SyntaxIndex, calls: readonly ToolCall[]): ResultText[] {
  return calls.flatMap(({ visit, tool }) => {
    const awaited = outermost(visit).parent;
    if (awaited?.node.type !== 'AwaitExpression') return [];
    const texts: ResultText[] = [];
    const open: ResultPart[] = [{ at: awaited, path: [] }];
    for (let uses = MAX_USES; uses > 0; uses--) {
      const part = open.pop();
      if (part === undefined) break;
      const value = outermostPart(part);
      const becomes = isText(value.at) ? 'text' : isOperand(value.at) ? 'number' : undefined;
      if (becomes !== undefined)
        texts.push({ becomes, offset: part.at.node.start, tool, path: value.path, isLogged: isLogged(value.at) });
      else open.push(...passedOn(value, index));
    }
    return texts;
  });
}

const MAX_USES = 500;
/** List methods that return a list of the same items. */
const KEEPING = new Set(['filter', 'reverse', 'slice', 'sort', 'toReversed', 'toSorted']);
const ITERATING = new Set(['filter', 'find', 'flatMap', 'forEach', 'map', 'some', 'every']);
const TEXT_METHODS = new Set(['join', 'toString']);

/** An expression that denotes a result or a part of a result. A number in `path` means any item. */
interface ResultPart {
  readonly at: Visit;
  readonly path: readonly (string | number)[];
}

/** The outermost expression that still denotes a part of the result, or the method that converts this part to text. */
function outermostPart({ at, path }: ResultPart): ResultPart {
  const { visit, path: members } = memberPath(at);
  const part = { at: visit, path: [...path, ...members] };
  const method = members.at(-1) ?? '';
  if (visit.key !== 'callee' || visit.parent?.node.type !== 'CallExpression') return part;
  const isKept = KEEPING.has(method);
  return isKept ? outermostPart({ at: visit.parent, path: part.path.slice(0, -1) }) : withoutTextMethod(part, method);
}

function withoutTextMethod(part: ResultPart, method: string): ResultPart {
  return TEXT_METHODS.has(method) ? { at: part.at, path: part.path.slice(0, -1) } : part;
}

/** The expressions that receive the value of this expression. */
function passedOn({ at, path }: ResultPart, index: SyntaxIndex): ResultPart[] {
  const holder = at.parent?.node;
  if (holder?.type === 'VariableDeclarator' && at.key === 'init')
    return patternParts(holder.id, path, { index, scope: index.program });
  if (holder?.type === 'ForOfStatement' && at.key === 'right' && !holder.await) {
    const target = holder.left.type === 'VariableDeclaration' ? holder.left.declarations[0]?.id : undefined;
    return target === undefined ? [] : patternParts(target, [...path, 0], { index, scope: holder });
  }
  if (holder?.type !== 'CallExpression' || at.key !== 'callee' || !ITERATING.has(String(path.at(-1)))) return [];
  const callback = holder.arguments[0];
  const first = callback === undefined || !isFunction(callback) ? undefined : (callback as FunctionNode).params[0];
  return first === undefined ? [] : patternParts(first, [...path.slice(0, -1), 0], { index, scope: callback as Node });
}

interface Place {
  readonly index: SyntaxIndex;
  /** The scope of the variables. Outside of this scope, the same names may denote other variables. */
  readonly scope: Node;
}

/** The uses of the variables that receive a value. */
function patternParts(target: Node, path: ResultPart['path'], place: Place): ResultPart[] {
  if (target.type === 'Identifier') return variableUses(target.name, place).map((use) => ({ at: use, path }));
  if (target.type !== 'ObjectPattern') return [];
  return target.properties.flatMap((property) => {
    if (property.type !== 'Property' || property.computed || property.key.type !== 'Identifier') return [];
    return patternParts(property.value, [...path, property.key.name], place);
  });
}

/** The uses of a variable; empty if the variable may hold another value. */
function variableUses(name: string, { index, scope }: Place): Visit[] {
  const isInside = ({ node }: Visit) => scope.start <= node.start && node.end <= scope.end;
  const uses = (index.references.get(name) ?? []).filter(isInside);
  const isOne = (index.declared.get(name) ?? []).filter(isInside).length === 1;
  return isOne && !uses.some(isWritten) ? uses : [];
}

function isText(visit: Visit): boolean {
  const { node, key, parent } = visit;
  switch (parent?.node.type) {
    case 'CallExpression':
      return isTextMethod(visit, parent.node);
    case 'TemplateLiteral':
      return key === 'expressions' && parent.parent?.node.type !== 'TaggedTemplateExpression';
    case 'BinaryExpression': {
      const { operator, left, right } = parent.node;
      const other = innerExpression(left === node ? right : left);
      return operator === '+' && (other.type === 'TemplateLiteral' || isTextLiteral(other));
    }
    default:
      return false;
  }
}

const ARITHMETIC = new Set(['-', '*', '/', '%', '**']);

/** Whether the value is an operand of arithmetic: `rows / 2`, `-row`. */
function isOperand({ parent }: Visit): boolean {
  const node = parent?.node;
  if (node?.type === 'UnaryExpression') return node.operator === '-';
  return node?.type === 'BinaryExpression' && ARITHMETIC.has(node.operator);
}

/** Whether the call converts the value to text: `rows.join()`, `row.toString()`, `String(row)`. */
function isTextMethod({ node, key }: Visit, call: NodeOf<'CallExpression'>): boolean {
  if (key === 'callee') return node.type === 'MemberExpression' && TEXT_METHODS.has(memberName(node) ?? '');
  return key === 'arguments' && call.callee.type === 'Identifier' && call.callee.name === 'String';
}

function isTextLiteral(node: { type: string; value?: unknown }): boolean {
  return node.type === 'Literal' && typeof node.value === 'string';
}

function isLogged(visit: Visit): boolean {
  for (let at = visit.parent; at !== undefined; at = at.parent) {
    if (at.node.type === 'CallExpression') return isConsole(at.node);
    if (at.node.type !== 'TemplateLiteral' && at.node.type !== 'BinaryExpression') return false;
  }
  return false;
}

function isConsole({ callee }: NodeOf<'CallExpression'>): boolean {
  const method = innerExpression(callee);
  if (method.type !== 'MemberExpression' || memberName(method) === undefined) return false;
  const object = innerExpression(method.object);
  return object.type === 'Identifier' && object.name === 'console';
}
