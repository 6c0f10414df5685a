import type { KnownArgument } from '../../protocol/index.js';
import { formatPath } from '../../text/value-path.js';
import { Chains, type Chain } from '../syntax/chains.js';
import { Constants } from '../syntax/constants.js';
import { knownArguments } from '../syntax/literal.js';
import { isFunction, type SyntaxIndex } from '../syntax/syntax-index.js';
import {
  isTransparent,
  isWritten,
  memberName,
  outermost,
  innerExpression,
  walk,
  type Identifier,
  type Node,
  type NodeOf,
  type Visit,
} from '../syntax/syntax.js';
import { calledTool, toolVariables, type ToolCall } from '../syntax/tool-calls.js';
import { absenceTest } from './absence-tests.js';
import { findResultTexts } from './result-texts.js';
import type {
  CallFact,
  SourceFacts,
  SourceRange,
  SumFact,
  SwitchFact,
  TreeFacts,
  VariableMention,
} from './source-facts.js';

export function sourceFacts(
  index: SyntaxIndex,
  toolCalls: readonly ToolCall[],
  { insertedRanges, refusals }: Pick<SourceFacts, 'insertedRanges' | 'refusals'>,
): SourceFacts {
  const variables = toolVariables(index);
  const collector = new FactCollector(describeCalls(index, toolCalls), variables);
  walk(index.program, (visit) => collector.visit(visit));
  collector.finish(index);
  const uses = [...variables].flatMap((name) => index.references.get(name) ?? []);
  return {
    ...collector,
    toolVariableOffsets: new Set(uses.map(({ node }) => node.start)),
    resultTexts: findResultTexts(index, toolCalls),
    insertedRanges,
    refusals,
  };
}

type CalledTool = Pick<CallFact, 'tool' | 'knownArguments'>;

/**
 * Maximum number of known arguments in one script, because judging an argument against an external schema may take
 * milliseconds.
 */
const MAX_KNOWN = 100;

function describeCalls(index: SyntaxIndex, toolCalls: readonly ToolCall[]): ReadonlyMap<Node, CalledTool> {
  const constants = new Constants(index, new Set<Node>(toolCalls.map(({ node }) => node)));
  let count = 0;
  return new Map(
    toolCalls.map((call) => {
      const { tool, argument } = calledTool(call);
      if (count >= MAX_KNOWN) return [call.node, { tool }];
      const values = argument === undefined ? [noArgument(call)] : knownArguments(argument, constants);
      count += values.length;
      return [call.node, { tool, knownArguments: values.length === 0 ? undefined : values }];
    }),
  );
}

function noArgument({ nameOffset }: ToolCall): KnownArgument {
  return { value: undefined, unknown: [], given: [], open: [], places: [[formatPath([]), nameOffset]] };
}

const TYPE_ONLY = new Set<Node['type']>([
  'TSTypeAnnotation',
  'TSTypeParameterInstantiation',
  'TSTypeParameterDeclaration',
  'TSTypeAliasDeclaration',
  'TSInterfaceDeclaration',
  'TSDeclareFunction',
  'TSClassImplements',
]);
const COLLECTING = new Set(['push', 'unshift', 'set', 'add', 'splice', 'concat', 'fill']);
/** Functions that add members to their first argument, or change its prototype. */
const OPENING = new Set(['assign', 'defineProperty', 'defineProperties', 'setPrototypeOf']);

/** Collects facts in one walk over the syntax tree. */
class FactCollector implements TreeFacts {
  readonly typeRanges: SourceRange[] = [];
  readonly tryBlocks: SourceRange[] = [];
  readonly calls: CallFact[] = [];
  readonly toolMemberOffsets = new Set<number>();
  readonly assignedMembers = new Set<string>();
  readonly guardedMembers = new Set<string>();
  readonly testedMembers = new Set<string>();
  readonly probedNames = new Set<string>();
  readonly guardedVariables = new Set<string>();
  readonly patternVariables = new Map<number, string>();
  readonly assignedObjectOffsets = new Set<number>();
  readonly uncertainVariables = new Set<string>();
  readonly annotatedVariables = new Set<string>();
  readonly propertyRanges: SourceRange[] = [];
  readonly plainLiteralOffsets = new Set<number>();
  readonly functionRanges: SourceRange[] = [];
  readonly convertingComparisons: SourceRange[] = [];
  readonly switches: SwitchFact[] = [];
  readonly sums: SumFact[] = [];
  readonly declaredShapes = new Set<string>();
  readonly mentions: VariableMention[] = [];
  readonly declaredTypes = new Set<string>();
  hasOpenClasses = false;
  readonly #tools: ReadonlyMap<Node, CalledTool>;
  readonly #toolVariables: ReadonlySet<string>;
  readonly #chains = new Chains();
  /** Assignments with `+=` to variables. */
  readonly #additions: NodeOf<'AssignmentExpression'>[] = [];
  /** Members that a variable's declaration copies: `const total = page.total`. */
  readonly #copies: [member: string, variable: string][] = [];
  readonly #members: { at: number; chain: Chain }[] = [];
  /** Variables that a collecting method changes. */
  readonly #collectors = new Set<string>();

  constructor(tools: ReadonlyMap<Node, CalledTool>, toolVariables: ReadonlySet<string>) {
    this.#tools = tools;
    this.#toolVariables = toolVariables;
  }

  visit(visit: Visit): void {
    const { node } = visit;
    if (isTypeOnly(visit)) this.typeRanges.push([node.start, node.end]);
    switch (node.type) {
      case 'CallExpression':
      case 'NewExpression':
        return this.#call(node);
      case 'MemberExpression':
        return this.#member(visit, node);
      case 'AssignmentExpression':
        if (node.operator === '+=' && node.left.type === 'Identifier') this.#additions.push(node);
        return this.#assign(node.left);
      case 'ForOfStatement':
      case 'ForInStatement':
        return node.left.type === 'VariableDeclaration' ? undefined : this.#assign(node.left);
      case 'UpdateExpression':
        return this.#assign(node.argument);
      case 'Identifier':
        return this.#identifier(visit, node);
      case 'Property':
        return this.#property(visit, node);
      case 'ObjectExpression':
        return this.#literal(visit, node);
      case 'MethodDefinition':
      case 'PropertyDefinition':
        return this.#note(this.assignedMembers, keyName(node));
      case 'TryStatement':
        if (node.handler !== null) this.tryBlocks.push([node.block.start, node.block.end]);
        return;
      case 'TSTypeAliasDeclaration':
      case 'TSInterfaceDeclaration':
        return this.#note(this.declaredTypes, node.id.name);
      case 'TSTypeLiteral':
        this.declaredShapes.add(literalShape(node));
        return;
      case 'FunctionDeclaration':
      case 'FunctionExpression':
      case 'ArrowFunctionExpression':
        this.functionRanges.push([node.start, node.end]);
        return;
      case 'VariableDeclarator':
        return this.#declare(node);
      case 'BinaryExpression':
        if (node.operator === '==' || node.operator === '!=') this.convertingComparisons.push([node.start, node.end]);
        if (node.operator === 'in' && node.left.type === 'Literal') this.guardedMembers.add(String(node.left.value));
        return;
      case 'SwitchStatement':
        this.switches.push(switchFact(node));
        return;
      case 'TSTypeParameter':
        return this.#note(this.declaredTypes, node.name.name);
      default:
    }
  }

  /** Adds the facts that depend on the whole script. */
  finish(index: SyntaxIndex): void {
    const { references, declared } = index;
    for (const { left, right } of this.#additions)
      if (!isWrittenText(right) && isCounter((left as Identifier).name, index))
        this.sums.push({ start: left.start, end: left.end, added: [right.start, right.end] });
    for (const [member, variable] of this.#copies)
      if (this.guardedVariables.has(variable)) this.guardedMembers.add(member);
    const assignedObjects = this.#chains.naming(this.assignedMembers);
    for (const { at, chain } of this.#members) if (assignedObjects.has(chain)) this.assignedObjectOffsets.add(at);
    for (const name of new Set([...this.uncertainVariables, ...this.#collectors, ...this.annotatedVariables])) {
      for (const visit of [...(references.get(name) ?? []), ...(declared.get(name) ?? [])])
        this.mentions.push([visit.node.start, endOfChain(visit), name]);
    }
  }

  #call(node: NodeOf<'CallExpression'> | NodeOf<'NewExpression'>): void {
    const callee = innerExpression(node.callee);
    const method = callee.type === 'MemberExpression' ? (memberName(callee) ?? '') : '';
    const first = node.arguments[0];
    const opens = OPENING.has(method) || (callee.type === 'Identifier' && callee.name === 'Proxy');
    if (opens && first !== undefined) this.#open(first);
    const collector =
      COLLECTING.has(method) && callee.type === 'MemberExpression' ? this.#chains.of(callee.object).root : '';
    if (collector !== '') this.#collectors.add(collector);
    const callback = innerFunction(first);
    if (method === 'reduce' && callback !== undefined && isNumber(node.arguments[1]))
      this.sums.push({ ...nodeRange(callback), added: [callback.start, callback.end] });
    if (first?.type === 'Literal' && (method === 'hasOwnProperty' || method === 'has'))
      this.guardedMembers.add(String(first.value));
    this.calls.push({
      start: node.start,
      end: node.end,
      ...(this.#tools.get(node) ?? { tool: '' }),
      collector,
      isParse:
        method === 'parse' && callee.type === 'MemberExpression' && this.#chains.of(callee.object).root === 'JSON',
      hasSpread: node.arguments.some(
        (argument) =>
          argument.type === 'ObjectExpression' && argument.properties.some(({ type }) => type === 'SpreadElement'),
      ),
    });
  }

  #member(visit: Visit, node: NodeOf<'MemberExpression'>): void {
    const name = memberName(node);
    if (name === undefined) return;
    const chain = this.#chains.of(node.object);
    if ((chain.root === 'tools' || this.#toolVariables.has(chain.root)) && chain.isPath)
      this.toolMemberOffsets.add(node.property.start);
    if (chain.root === 'globalThis') this.probedNames.add(name);
    // The tools object throws for an unknown name, so a test of `tools.x` handles no absence.
    if (chain.root === 'tools' && !chain.isNamed) return;
    this.#members.push({ at: node.property.start, chain });
    const outer = outermost(visit);
    const test = absenceTest(outer);
    if (test === 'guarded') this.guardedMembers.add(name);
    if (test === 'tested') this.testedMembers.add(name);
    const holder = outer.parent?.node;
    if (holder?.type === 'VariableDeclarator' && holder.id.type === 'Identifier')
      this.#copies.push([name, holder.id.name]);
  }

  /** Records the target of an assignment, of `++` or `--`, or of a `for … of` or `for … in`. */
  #assign(target: Node): void {
    const inner = innerExpression(target);
    switch (inner.type) {
      case 'Identifier':
        this.uncertainVariables.add(inner.name);
        return;
      case 'MemberExpression': {
        const name = memberName(inner);
        if (name === undefined) this.#open(inner.object);
        else this.assignedMembers.add(name);
        return;
      }
      case 'ObjectPattern':
        for (const property of inner.properties)
          this.#assign(property.type === 'RestElement' ? property.argument : property.value);
        return;
      case 'ArrayPattern':
        for (const element of inner.elements) if (element !== null) this.#assign(element);
        return;
      case 'AssignmentPattern':
        return this.#assign(inner.left);
      case 'RestElement':
        return this.#assign(inner.argument);
      default:
    }
  }

  /**
   * Marks a variable as uncertain if its value comes from `reduce` or is a proxy: such a value may have members that the
   * source never names.
   */
  #declare({ id, init }: NodeOf<'VariableDeclarator'>): void {
    if (id.type !== 'Identifier' || init === null) return;
    const value = innerExpression(init);
    if (value.type !== 'CallExpression' && value.type !== 'NewExpression') return;
    const callee = innerExpression(value.callee);
    const name =
      callee.type === 'MemberExpression' ? memberName(callee) : callee.type === 'Identifier' ? callee.name : '';
    if (name === 'reduce' || name === 'reduceRight' || name === 'Proxy') this.uncertainVariables.add(id.name);
  }

  /**
   * Marks the variable at the start of the expression as uncertain: the expression's value receives members that the source
   * never names. If the value is `this` or a prototype, no class is fully known.
   */
  #open(object: Node): void {
    const inner = innerExpression(object);
    const { root, isThis } = this.#chains.of(inner);
    if (root !== '') this.uncertainVariables.add(root);
    this.hasOpenClasses ||= isThis || (root !== '' && isPrototype(inner));
  }

  #identifier(visit: Visit, node: NodeOf<'Identifier'>): void {
    if (isAnnotated(node)) this.annotatedVariables.add(node.name);
    const { parent } = visit;
    if (parent?.node.type === 'UnaryExpression' && parent.node.operator === 'typeof') this.probedNames.add(node.name);
    else if (absenceTest(outermost(visit)) !== undefined) this.guardedVariables.add(node.name);
    // A parameter with a default may receive another value.
    if (parent?.node.type === 'AssignmentPattern' && visit.key === 'left' && isParameter(parent))
      this.uncertainVariables.add(node.name);
  }

  #property(visit: Visit, node: NodeOf<'Property'>): void {
    const pattern = visit.parent;
    if (pattern?.node.type === 'ObjectExpression') this.propertyRanges.push([node.start, node.end]);
    if (pattern?.node.type !== 'ObjectPattern') return;
    const name = keyName(node);
    if (name === undefined) return;
    const isOptional = pattern.parent?.node.type === 'AssignmentPattern' && isParameter(pattern.parent);
    if (node.value.type === 'AssignmentPattern' || isOptional) this.guardedMembers.add(name);
    const variable = node.value.type === 'AssignmentPattern' ? node.value.left : node.value;
    if (variable.type === 'Identifier') this.patternVariables.set(node.key.start, variable.name);
  }

  #literal(visit: Visit, node: NodeOf<'ObjectExpression'>): void {
    if (node.properties.some((property) => property.type === 'SpreadElement' || property.computed)) return;
    const { parent } = outermost(visit);
    this.plainLiteralOffsets.add(node.start);
    if (parent?.node.type === 'Property') this.plainLiteralOffsets.add(parent.node.start);
  }

  #note(names: Set<string>, name: string | undefined): void {
    if (name !== undefined) names.add(name);
  }
}

function nodeRange({ start, end }: Node): { start: number; end: number } {
  return { start, end };
}

function innerFunction(argument: Node | undefined): Node | undefined {
  return argument !== undefined && isFunction(argument) ? argument : undefined;
}

function isNumber(node: Node | null | undefined): boolean {
  return node?.type === 'Literal' && typeof node.value === 'number';
}

function isWrittenText(node: Node): boolean {
  return node.type === 'TemplateLiteral' || (node.type === 'Literal' && typeof node.value === 'string');
}

const COUNTING = new Set<string>(['+=', '-=', '*=', '/=']);

/** Whether a variable starts as a number, and the script only counts with it. */
function isCounter(name: string, { declared, references }: SyntaxIndex): boolean {
  const [declaration, ...others] = declared.get(name) ?? [];
  const declarator = declaration?.parent?.node;
  if (others.length > 0 || declarator?.type !== 'VariableDeclarator' || !isNumber(declarator.init)) return false;
  return (references.get(name) ?? []).every((use) => {
    const holder = use.parent?.node;
    if (holder?.type === 'AssignmentExpression' && use.key === 'left') return COUNTING.has(holder.operator);
    return !isWritten(use) || holder?.type === 'UpdateExpression';
  });
}

function isTypeOnly({ node, key, parent }: Visit): boolean {
  if (TYPE_ONLY.has(node.type)) return true;
  const holder = parent?.node.type;
  return (
    key === 'typeAnnotation' &&
    (holder === 'TSAsExpression' || holder === 'TSSatisfiesExpression' || holder === 'TSTypeAssertion')
  );
}

function isAnnotated(node: Node): boolean {
  const { typeAnnotation } = node as { typeAnnotation?: unknown };
  return typeAnnotation !== undefined && typeAnnotation !== null;
}

function isParameter({ key, parent }: Visit): boolean {
  return key === 'params' && parent !== undefined;
}

function switchFact({ cases }: NodeOf<'SwitchStatement'>): SwitchFact {
  const tests = cases.flatMap(({ test }) => (test === null ? [] : [test.start]));
  return { cases: tests, hasDefault: tests.length < cases.length };
}

function keyName({ computed, key }: { computed: boolean; key: Node }): string | undefined {
  if (key.type === 'Literal') return String(key.value);
  return !computed && key.type === 'Identifier' ? key.name : undefined;
}

function isPrototype(node: Node): boolean {
  return node.type === 'MemberExpression' && memberName(node) === 'prototype';
}

/** Names of members, sorted and joined. */
function literalShape({ members }: NodeOf<'TSTypeLiteral'>): string {
  return members
    .map((member) => (member.type === 'TSPropertySignature' ? (keyName(member) ?? '') : ''))
    .toSorted((left, right) => (left < right ? -1 : 1))
    .join();
}

/** The end offset of the chain of members and calls that starts with an expression: the end of `a.b(c).d` for `a`. */
function endOfChain(visit: Visit): number {
  let at = visit;
  for (let { parent } = at; parent !== undefined; { parent } = at) {
    const isChained =
      (parent.node.type === 'MemberExpression' && at.key === 'object') ||
      (parent.node.type === 'CallExpression' && at.key === 'callee') ||
      isTransparent(parent.node);
    if (!isChained) break;
    at = parent;
  }
  return at.node.end;
}
