import { type SyntaxIndex, isFunction } from '../syntax/syntax-index.js';
import { memberName, innerExpression, type Node, type NodeOf, type Visit } from '../syntax/syntax.js';

/** One use of a banned construct in a script, with its replacement. */
export interface PolicyViolation {
  readonly construct: string;
  readonly message: string;
  readonly hint: string;
  readonly offset: number;
}

const USE_TOOLS = 'Everything a script can use is a global: call `await tools.NAME(args)` without an import.';
const WRITE_DIRECTLY = 'Write the code directly in the script, as a function if it is needed several times.';

const GLOBAL_OBJECTS = new Set(['globalThis', 'window', 'self', 'global']);
const CODE_MAKERS = new Set(['eval', 'Function']);
const CODE_MAKER_KIN = new Set(['AsyncFunction', 'GeneratorFunction', 'AsyncGeneratorFunction']);
const FORWARDERS = new Set(['call', 'apply', 'bind']);

/**
 * Finds the banned constructs of a parsed script, in source order. Reading a member, as in `error.constructor.name`, is
 * allowed.
 */
export function findViolations(index: SyntaxIndex): PolicyViolation[] {
  const violations: PolicyViolation[] = [];
  // defence: no-modules
  for (const visit of index.modular) push(violations, modularViolation(visit));
  const context = codeMakerContext(index);
  for (const visit of index.calls) push(violations, callViolation(visit, context));
  return violations.sort((left, right) => left.offset - right.offset);
}

function push(violations: PolicyViolation[], violation: PolicyViolation | undefined): void {
  if (violation !== undefined) violations.push(violation);
}

function modularViolation({ node, parent }: Visit): PolicyViolation | undefined {
  const offset = node.start;
  switch (node.type) {
    case 'ImportDeclaration':
      return { construct: 'import', message: '`import` is not available in scripts.', hint: USE_TOOLS, offset };
    case 'TSImportEqualsDeclaration':
      if (node.moduleReference.type !== 'TSExternalModuleReference') return undefined;
      return { construct: 'import', message: '`import` is not available in scripts.', hint: USE_TOOLS, offset };
    case 'ImportExpression':
      return {
        construct: 'import()',
        message: 'Dynamic `import()` is not available in scripts.',
        hint: USE_TOOLS,
        offset,
      };
    case 'MetaProperty':
      if (node.meta.name !== 'import') return undefined;
      return {
        construct: 'import.meta',
        message: '`import.meta` is not available in scripts.',
        hint: USE_TOOLS,
        offset,
      };
    case 'ExportNamedDeclaration':
      return parent?.node.type === 'TSModuleBlock' ? undefined : exportViolation(offset);
    case 'Decorator':
      return {
        construct: 'decorator',
        message: 'Decorators are not available in scripts.',
        hint: 'Call the function directly.',
        offset,
      };
    default:
      return exportViolation(offset);
  }
}

function exportViolation(offset: number): PolicyViolation {
  return {
    construct: 'export',
    message: '`export` is not available in scripts.',
    hint: 'Declare without `export`, and return a value with `return`.',
    offset,
  };
}

interface CodeMakerContext {
  isDeclared(name: string): boolean;
  /** Variables that hold the constructor of a function: `const Make = (async () => {}).constructor`. */
  readonly holders: ReadonlySet<string>;
  readonly functionNames: ReadonlySet<string>;
}

function codeMakerContext(index: SyntaxIndex): CodeMakerContext {
  const functionNames = new Set<string>();
  const holders = new Set<string>();
  const context: CodeMakerContext = { isDeclared: (name) => index.declared.has(name), holders, functionNames };
  const valued: [name: string, value: Node][] = [];
  for (const [name, visits] of index.declared) {
    // A name that is declared twice may have another meaning at its use. The check skips such a name, because a missed
    // fault is better than a false rejection.
    if (visits.length !== 1) continue;
    for (const { key, parent } of visits) {
      if (parent?.node.type === 'FunctionDeclaration' && key === 'id') functionNames.add(name);
      if (parent?.node.type === 'VariableDeclarator' && key === 'id' && parent.node.init !== null) {
        valued.push([name, innerExpression(parent.node.init)]);
      }
    }
  }
  for (const [name, value] of valued) if (isFunction(value)) functionNames.add(name);
  for (const [name, value] of valued) if (isFunctionConstructor(value, context)) holders.add(name);
  return context;
}

function callViolation(visit: Visit, context: CodeMakerContext): PolicyViolation | undefined {
  const { node } = visit;
  if (node.type === 'CallExpression' || node.type === 'NewExpression') {
    return calleeViolation(node.callee, node, context) ?? reflectViolation(node, context);
  }
  return node.type === 'TaggedTemplateExpression' ? calleeViolation(node.tag, node, context) : undefined;
}

function calleeViolation(callee: Node, call: Node, context: CodeMakerContext): PolicyViolation | undefined {
  const target = calledValue(callee);
  const offset = call.start;
  // defence: no-require
  if (target.type === 'Identifier' && target.name === 'require' && !context.isDeclared('require')) {
    return { construct: 'require', message: '`require` is not available in scripts.', hint: USE_TOOLS, offset };
  }
  const maker = codeMakerName(target, context);
  // defence: no-code-makers
  if (maker !== undefined) return dynamicCode(maker, offset);
  // defence: no-forwarded-code-makers
  if (target.type === 'MemberExpression' && FORWARDERS.has(memberName(target) ?? '')) {
    const forwarded = codeMakerName(calledValue(target.object), context);
    if (forwarded !== undefined) return dynamicCode(forwarded, offset);
  }
  return undefined;
}

/** Detects `Reflect.construct(Function, …)` and `Reflect.apply(eval, …)`. */
function reflectViolation(
  call: NodeOf<'CallExpression'> | NodeOf<'NewExpression'>,
  context: CodeMakerContext,
): PolicyViolation | undefined {
  const callee = innerExpression(call.callee);
  if (callee.type !== 'MemberExpression') return undefined;
  const object = innerExpression(callee.object);
  if (object.type !== 'Identifier' || object.name !== 'Reflect') return undefined;
  const [first] = call.arguments;
  const maker = first === undefined ? undefined : codeMakerName(calledValue(first), context);
  // defence: no-reflected-code-makers
  return maker === undefined ? undefined : dynamicCode(maker, call.start);
}

function dynamicCode(maker: string, offset: number): PolicyViolation {
  return {
    construct: maker,
    message: `\`${maker}\` is not available in scripts: scripts cannot create code from text.`,
    hint: WRITE_DIRECTLY,
    offset,
  };
}

/** The function that a callee denotes: `(0, eval)` and `(eval as any)` denote eval. */
function calledValue(callee: Node): Node {
  let target = innerExpression(callee);
  while (target.type === 'SequenceExpression') {
    const last = target.expressions.at(-1);
    if (last === undefined) break;
    target = innerExpression(last);
  }
  return target;
}

function codeMakerName(target: Node, context: CodeMakerContext): string | undefined {
  if (target.type === 'Identifier') {
    if (context.holders.has(target.name)) return target.name;
    const makes = CODE_MAKERS.has(target.name) || CODE_MAKER_KIN.has(target.name);
    return makes && !context.isDeclared(target.name) ? target.name : undefined;
  }
  if (target.type !== 'MemberExpression') return undefined;
  const name = memberName(target);
  const object = innerExpression(target.object);
  const onGlobal = object.type === 'Identifier' && GLOBAL_OBJECTS.has(object.name) && !context.isDeclared(object.name);
  if (onGlobal && name !== undefined && CODE_MAKERS.has(name)) return name;
  return isFunctionConstructor(target, context) ? 'constructor' : undefined;
}

/** Whether the node is `x.constructor` and x is known to be a function, or the prototype of a function. */
function isFunctionConstructor(node: Node, context: CodeMakerContext): boolean {
  if (node.type !== 'MemberExpression' || memberName(node) !== 'constructor') return false;
  const object = innerExpression(node.object);
  if (isFunction(object)) return true;
  if (object.type === 'MemberExpression') {
    const name = memberName(object);
    if (name === 'constructor') return true;
    const owner = innerExpression(object.object);
    return name === 'prototype' && owner.type === 'Identifier' && CODE_MAKERS.has(owner.name);
  }
  if (object.type === 'Identifier') return CODE_MAKERS.has(object.name) || context.functionNames.has(object.name);
  return isPrototypeOfFunction(object, context);
}

/** Whether the node is the prototype of a function: `Object.getPrototypeOf(async function () {})`. */
function isPrototypeOfFunction(node: Node, context: CodeMakerContext): boolean {
  if (node.type !== 'CallExpression') return false;
  const callee = innerExpression(node.callee);
  if (callee.type !== 'MemberExpression' || memberName(callee) !== 'getPrototypeOf') return false;
  const [first] = node.arguments;
  if (first === undefined) return false;
  const argument = innerExpression(first);
  return isFunction(argument) || (argument.type === 'Identifier' && context.functionNames.has(argument.name));
}
