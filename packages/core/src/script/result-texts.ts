import type { SyntaxIndex } from './syntax-index.js';
import { memberName, unwrapped } from './syntax.js';
import type { NodeOf } from './syntax.js';
import { isConstant, memberPath, type ToolCall } from './tool-calls.js';
import { outermost, type Visit } from './walk.js';

/** A place that makes a text of a tool's result, or of a member of it. */
export interface ResultText {
  readonly offset: number;
  readonly tool: string;
  /** The members between the result and what the text is made of. */
  readonly path: readonly string[];
  /** It is only printed. */
  readonly isLogged: boolean;
}

/** `${result}`, `'…' + result.user`, where the variable always holds the awaited result of one call. */
export function findResultTexts(index: SyntaxIndex, calls: readonly ToolCall[]): ResultText[] {
  return calls.flatMap(({ visit, tool }) => {
    const awaited = outermost(visit).parent;
    if (awaited?.node.type !== 'AwaitExpression') return [];
    const declarator = outermost(awaited).parent?.node;
    if (declarator?.type !== 'VariableDeclarator' || declarator.init !== unwrappedOuter(awaited))
      return textAt(awaited, tool);
    const { id } = declarator;
    if (id.type !== 'Identifier' || !isConstant(index, id.name)) return [];
    return (index.references.get(id.name) ?? []).flatMap((use) => textAt(use, tool));
  });
}

function unwrappedOuter(visit: Visit) {
  return outermost(visit).node;
}

function textAt(start: Visit, tool: string): ResultText[] {
  const { visit, path } = memberPath(start);
  return isText(visit) ? [{ offset: start.node.start, tool, path, isLogged: isLogged(visit) }] : [];
}

function isText({ node, key, parent }: Visit): boolean {
  switch (parent?.node.type) {
    case 'TemplateLiteral':
      return key === 'expressions' && parent.parent?.node.type !== 'TaggedTemplateExpression';
    case 'BinaryExpression': {
      const { operator, left, right } = parent.node;
      const other = unwrapped(left === node ? right : left);
      return operator === '+' && (other.type === 'TemplateLiteral' || isTextLiteral(other));
    }
    default:
      return false;
  }
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
  const method = unwrapped(callee);
  if (method.type !== 'MemberExpression' || memberName(method) === undefined) return false;
  const object = unwrapped(method.object);
  return object.type === 'Identifier' && object.name === 'console';
}
