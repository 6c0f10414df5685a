import type { Finding } from './findings.js';
import type { SyntaxIndex } from './syntax-index.js';
import { isFunction } from './syntax-index.js';
import { isTransparent, memberName, unwrapped } from './syntax.js';
import type { Node, NodeOf } from './syntax.js';
import type { ToolCall } from './tool-calls.js';
import type { Visit } from './walk.js';

/** `exec` gives a handle, and a task is cancelled whether or not somebody waits for that. */
const WITHOUT_AWAIT = new Set(['spawn.exec', 'spawn.cancel']);
const CHAINING = new Set(['then', 'catch', 'finally']);
const TEXT_FUNCTIONS = new Set(['String', 'text', 'emit', 'Number', 'Boolean', 'parseInt', 'parseFloat']);

/** Places where a promise is used as if it were its value. `void tools.x()` and `const p = tools.x()` are deliberate. */
export function findPromiseMisuse(index: SyntaxIndex, calls: readonly ToolCall[]): Finding[] {
  const findings: Finding[] = [];
  for (const call of calls) {
    const finding = WITHOUT_AWAIT.has(call.tool) ? undefined : misuseOf(call);
    if (finding !== undefined) findings.push(finding);
  }
  for (const { node } of index.calls) {
    const finding = node.type === 'CallExpression' ? asyncForEach(node) : undefined;
    if (finding !== undefined) findings.push(finding);
  }
  return findings;
}

function misuseOf({ visit, node, tool }: ToolCall): Finding | undefined {
  const { holder, child } = whereItGoes(visit);
  const found = judge(holder, child);
  if (found === undefined) return undefined;
  const [code, what] = found;
  const message = `tools.${tool}() returns a promise, and it is ${what}. Write \`await tools.${tool}(…)\`.`;
  return { severity: 'warning', code, message, offset: node.start };
}

/** Follows the promise outwards through what passes it on unchanged: assertions, `?:`, `&&`, `.then()`. */
function whereItGoes(call: Visit): { holder: Visit | undefined; child: Visit } {
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

function isChained(holder: Visit, child: Visit): boolean {
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

function asyncForEach(call: NodeOf<'CallExpression'>): Finding | undefined {
  const callee = unwrapped(call.callee);
  if (callee.type !== 'MemberExpression' || memberName(callee) !== 'forEach') return undefined;
  const callback: Node | undefined = call.arguments[0];
  if (callback === undefined || !isFunction(callback) || !(callback as { async?: boolean }).async) return undefined;
  return {
    severity: 'warning',
    code: 'async-foreach',
    message:
      '`forEach` does not wait for an async function. Use `for (const item of items) { await … }` or ' +
      '`await Promise.all(items.map(async (item) => …))`.',
    offset: callback.start,
  };
}
