import type { Finding } from './findings.js';
import type { SyntaxIndex } from './syntax-index.js';
import { isTopLevel } from './async-callbacks.js';
import { isCompound, isTransparent, memberName, unwrapped } from './syntax.js';
import type { Node, NodeOf } from './syntax.js';
import { isConstant, memberPath, type ToolCall } from './tool-calls.js';
import type { Visit } from './walk.js';

/** `exec` gives a handle, and a task is cancelled whether or not somebody waits for that. */
export const WITHOUT_AWAIT = new Set(['spawn.exec', 'spawn.cancel']);
const CHAINING = new Set(['then', 'catch', 'finally']);
/** Nobody can mean it. */
const CERTAIN = new Set(['promise-in-text', 'promise-in-result']);
const TEXT_FUNCTIONS = new Set(['String', 'text', 'emit', 'Number', 'Boolean', 'parseInt', 'parseFloat']);

/**
 * Places where a promise is used as if it were its value. `void tools.x()` and `const p = tools.x()` are deliberate.
 * An error is what cannot be meant: a promise that is written into a text, or returned inside of a value.
 */
export function findPromiseMisuse(index: SyntaxIndex, calls: readonly ToolCall[]): Finding[] {
  const awaited = calls.filter(({ tool }) => !WITHOUT_AWAIT.has(tool));
  return [
    ...awaited.flatMap((call) => misuseOf(call) ?? []),
    ...awaited.flatMap((call) => misuseOfVariable(index, call)),
    ...index.calls.flatMap((visit) => misuseOfGathered(index, visit)),
    ...uncalledTools(index),
  ];
}

function misuseOf({ visit, node, tool }: ToolCall): Finding | undefined {
  const { holder, child } = whereItGoes(visit);
  const found = judge(holder, child);
  if (found === undefined) return undefined;
  const [code, what] = found;
  const message = `tools.${tool}() returns a promise, and it is ${what}. Write \`await tools.${tool}(…)\`.`;
  return { severity: CERTAIN.has(code) ? 'error' : 'warning', code, message, offset: node.start };
}

/** Uses of a variable that always holds the promise of one call. */
function misuseOfVariable(index: SyntaxIndex, { visit, tool }: ToolCall): Finding[] {
  const { holder } = whereItGoes(visit);
  if (holder?.node.type !== 'VariableDeclarator' || holder.node.id.type !== 'Identifier') return [];
  const { name } = holder.node.id;
  if (!isConstant(index, name)) return [];
  return (index.references.get(name) ?? []).flatMap((use) => {
    const { holder: user, child } = whereItGoes(use);
    const [code, what] = judge(user, child) ?? ['', ''];
    if (!CERTAIN.has(code)) return [];
    const message = `\`${name}\` is the promise of tools.${tool}(), and it is ${what}. Write \`await ${name}\`.`;
    return [{ severity: 'error' as const, code, message, offset: use.node.start }];
  });
}

const GATHERING = new Set(['all', 'allSettled']);

/** `const rows = Promise.all(…)`, and then `rows[0]`, `rows.map(…)`, or a loop over it. */
function misuseOfGathered(index: SyntaxIndex, visit: Visit): Finding[] {
  const method = gatheringMethod(visit.node);
  const { holder } = whereItGoes(visit);
  if (method === '' || holder?.node.type !== 'VariableDeclarator' || holder.node.id.type !== 'Identifier') return [];
  const { name } = holder.node.id;
  if (!isConstant(index, name)) return [];
  return (index.references.get(name) ?? []).flatMap((use) => {
    const { holder: user, child } = whereItGoes(use);
    const [code, what] = judge(user, child) ?? ['', ''];
    if (code === '' || user?.node.type === 'ExpressionStatement') return [];
    const message = `\`${name}\` is a promise, and it is ${what}. Write \`await\` before \`Promise.${method}(…)\`.`;
    return [{ severity: 'error' as const, code: 'promise-as-value', message, offset: use.node.start }];
  });
}

/** `all` of `Promise.all(…)`; empty for other calls. */
function gatheringMethod(node: Node): string {
  const callee = node.type === 'CallExpression' ? unwrapped(node.callee) : undefined;
  if (callee?.type !== 'MemberExpression' || callee.object.type !== 'Identifier') return '';
  const method = memberName(callee) ?? '';
  return callee.object.name === 'Promise' && GATHERING.has(method) ? method : '';
}

/** `await tools.x`, `tools.x;` as a statement, and `return tools.x` of the script, which a function cannot leave. */
function uncalledTools(index: SyntaxIndex): Finding[] {
  return (index.references.get('tools') ?? []).flatMap((start) => {
    const { visit, path } = memberPath(start);
    const holder = visit.parent;
    if (path.length === 0 || holder === undefined || !usesNothing(holder)) return [];
    const name = ['tools', ...path].join('.');
    const message = `${name} is not called here. Write \`await ${name}({ … })\`.`;
    return [{ severity: 'error' as const, code: 'uncalled-tool', message, offset: start.node.start }];
  });
}

function usesNothing(holder: Visit): boolean {
  const { type } = holder.node;
  return (
    type === 'AwaitExpression' || type === 'ExpressionStatement' || (type === 'ReturnStatement' && isTopLevel(holder))
  );
}

/** Follows the promise outwards through what passes it on unchanged: assertions, `?:`, `&&`, `.then()`. */
export function whereItGoes(call: Visit): { holder: Visit | undefined; child: Visit } {
  let child = call;
  for (;;) {
    const holder = child.parent;
    if (holder === undefined) return { holder, child };
    const { node } = holder;
    const passes =
      isTransparent(node) ||
      (node.type === 'ConditionalExpression' && child.key !== 'test') ||
      (node.type === 'LogicalExpression' && child.key === 'right') ||
      (node.type === 'SequenceExpression' && node.expressions.at(-1) === child.node);
    if (passes) child = holder;
    else if (isChained(holder, child)) child = holder.parent as Visit;
    else return { holder, child };
  }
}

export function isChained(holder: Visit, child: Visit): boolean {
  const { node, key, parent } = holder;
  if (node.type !== 'MemberExpression' || child.key !== 'object' || !CHAINING.has(memberName(node) ?? '')) return false;
  return key === 'callee' && parent?.node.type === 'CallExpression';
}

function judge(holder: Visit | undefined, child: Visit): readonly [code: string, what: string] | undefined {
  const node = holder?.node;
  switch (node?.type) {
    case 'ExpressionStatement':
      return ['floating-promise', 'not awaited: the call is aborted when the script ends'];
    case 'SpreadElement':
      return ['floating-promise', 'spread without its value'];
    case 'MemberExpression':
      if (child.key !== 'object' || CHAINING.has(memberName(node) ?? '')) return undefined;
      return ['floating-promise', `asked for \`.${memberName(node) ?? '…'}\`, which only its value has`];
    case 'ForOfStatement':
      return child.key === 'right' && !node.await ? ['floating-promise', 'iterated without its value'] : undefined;
    case 'TemplateLiteral':
      return holder?.parent?.node.type === 'TaggedTemplateExpression'
        ? undefined
        : ['promise-in-text', 'put into a text as "[object Promise]"'];
    case 'BinaryExpression':
      if (node.operator === '+') return ['promise-in-text', 'joined to a text as "[object Promise]"'];
      return ['promise-in-condition', 'compared without its value'];
    case 'CallExpression':
      return child.key === 'arguments' ? judgeArgument(node) : undefined;
    case 'Property':
    case 'ArrayExpression':
      return isReturned(holder as Visit) ? ['promise-in-result', 'returned inside of a value'] : undefined;
    case 'IfStatement':
    case 'WhileStatement':
    case 'DoWhileStatement':
    case 'ForStatement':
    case 'ConditionalExpression':
      return child.key === 'test' ? ['promise-in-condition', 'used as a condition, which is always true'] : undefined;
    case 'LogicalExpression':
      return ['promise-in-condition', 'used as a condition, which is always true'];
    case 'UnaryExpression':
      return node.operator === '!' ? ['promise-in-condition', 'negated, which is always false'] : undefined;
    default:
      return undefined;
  }
}

/** Whether the script returns the object or list, at its top level. */
function isReturned(part: Visit): boolean {
  let at = part;
  while (at.node.type === 'Property' || isTransparent(at.node) || isCompound(at.node)) {
    if (at.parent === undefined) return false;
    at = at.parent;
  }
  return at.node.type === 'ReturnStatement' && isTopLevel(at);
}

function judgeArgument(call: NodeOf<'CallExpression'>): readonly [code: string, what: string] | undefined {
  const callee = unwrapped(call.callee);
  if (callee.type === 'Identifier' && TEXT_FUNCTIONS.has(callee.name)) {
    return ['promise-in-text', `given to ${callee.name}() without its value`];
  }
  if (callee.type !== 'MemberExpression') return undefined;
  const object = unwrapped(callee.object);
  if (object.type !== 'Identifier' || (object.name !== 'JSON' && object.name !== 'console')) return undefined;
  return ['promise-in-text', `given to ${object.name}.${memberName(callee) ?? ''}() without its value`];
}
