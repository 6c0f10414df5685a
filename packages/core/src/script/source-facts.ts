import type { KnownArgument } from '../protocol/index.js';
import type { Finding } from './findings.js';
import { Constants } from './constants.js';
import { knownArguments } from './literal.js';
import { findResultTexts, type ResultText } from './result-texts.js';
import type { SyntaxIndex } from './syntax-index.js';
import { isTransparent, memberName, outermost, unwrapped, walk, type Node, type NodeOf, type Visit } from './syntax.js';
import { Chains, type Chain } from './chains.js';
import { calledTool, toolVariables, type ToolCall } from './tool-calls.js';
import { formatPath } from '../text/value-path.js';

/** The facts by which TypeScript's diagnostics are judged. Offsets refer to the text that was parsed. */
export interface SourceFacts {
  /** Type-only syntax: it does not exist when the script runs. */
  readonly types: readonly Range[];
  /** Blocks of `try` statements that have a `catch`. */
  readonly tried: readonly Range[];
  /** Calls in source order; an outer call precedes the calls inside it. */
  readonly calls: readonly CallFact[];
  /** Offsets at which members of `tools` or of its namespaces are named, excluding members of a tool's result. */
  readonly toolMembers: readonly number[];
  /** Members that the script assigns somewhere, or that its classes have: `total.count = 1`. */
  readonly assigned: readonly string[];
  /** Members whose absence the script handles: `a.b ?? c`, `a.b?.()`, `'b' in a`, `const { b = 1 } = a`. */
  readonly provided: readonly string[];
  /** Members that the script only tests: `if (a.b)`, `a.b === undefined`. */
  readonly tested: readonly string[];
  /** Names that the script tests with `typeof`, or reads as members of `globalThis`. */
  readonly asked: readonly string[];
  /** Variables whose absence the script handles: `if (x)`, `x ?? y`. */
  readonly doubted: readonly string[];
  /**
   * Names that patterns destructure from objects: the offset of the member's name, and the variable that receives the
   * member.
   */
  readonly taken: readonly (readonly [at: number, variable: string])[];
  /** Uses of variables that hold a namespace of tools, or a tool. */
  readonly toolVariables: readonly number[];
  /** Offsets of members whose object is itself a member that the script assigns: `state.value = …; state.value.x`. */
  readonly afterAssigned: readonly number[];
  /**
   * Variables about which TypeScript knows less than the script, for example because they receive other values, or
   * members under computed names.
   */
  readonly loose: readonly string[];
  /** Variables with a type annotation. */
  readonly annotated: readonly string[];
  /** Members of object literals, from their name to the end of their value. */
  readonly properties: readonly Range[];
  /**
   * Start offsets of object literals without spread or computed members, and of the properties whose values they are.
   */
  readonly literals: readonly number[];
  /** Functions, from their start to the end of their body. */
  readonly functions: readonly Range[];
  /** Comparisons with `==` and `!=`. */
  readonly coercions: readonly Range[];
  /** The start offsets of the values of each `switch`'s cases, and whether the `switch` has a default. */
  readonly switches: readonly SwitchFact[];
  /** Names of the members of each `{ … }` type that the script declares, sorted and joined. */
  readonly ownShapes: readonly string[];
  /**
   * Uses of variables that are loose, annotated, or changed by a collecting method, each up to the end of its chain.
   */
  readonly mentions: readonly (readonly [start: number, end: number, variable: string])[];
  /** Aliases, interfaces and type parameters that the script declares. */
  readonly ownTypes: readonly string[];
  /** Expressions that convert results to text. */
  readonly texts: readonly ResultText[];
  /** Ranges of text that repairs, not the model, have inserted. */
  readonly added: readonly Range[];
  /** Faults of the script that are found without types. */
  readonly refusals: readonly Finding[];
  /** True if `this` or a prototype receives members that the source never names, so that no class is fully known. */
  readonly hasOpenClasses: boolean;
}

interface SwitchFact {
  readonly cases: readonly number[];
  readonly hasDefault: boolean;
}

export interface CallFact {
  readonly start: number;
  readonly end: number;
  /** The name of the called tool; empty for a call that is not a tool call. */
  readonly tool: string;
  /** The variable on which a collecting method is called (`list.push(…)`); empty otherwise. */
  readonly collects: string;
  /** True for `JSON.parse(…)`. */
  readonly isParse: boolean;
  /** True if one of the call's arguments is an object literal with a spread: `{ ...defaults, id }`. */
  readonly isSpread: boolean;
  /**
   * For a tool call: the known parts of the tool's arguments. If the arguments depend on a loop variable, there is one
   * entry for each value of this variable.
   */
  readonly known?: readonly KnownArgument[];
}

type Range = readonly [start: number, end: number];

export function sourceFacts(
  index: SyntaxIndex,
  toolCalls: readonly ToolCall[],
  { added, refusals }: Pick<SourceFacts, 'added' | 'refusals'>,
): SourceFacts {
  const variables = toolVariables(index);
  const collector = new FactCollector(describeCalls(index, toolCalls), variables);
  walk(index.program, (visit) => collector.visit(visit));
  return {
    ...collector.facts(index),
    toolVariables: usesOf(variables, index),
    texts: findResultTexts(index, toolCalls),
    added,
    refusals,
  };
}

function usesOf(names: ReadonlySet<string>, { references }: SyntaxIndex): number[] {
  return [...names].flatMap((name) => (references.get(name) ?? []).map(({ node }) => node.start));
}

type CalledTool = Pick<CallFact, 'tool' | 'known'>;

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
      const known = argument === undefined ? [noArgument(call)] : knownArguments(argument, constants);
      count += known.length;
      return [call.node, known.length === 0 ? { tool } : { tool, known }];
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
const QUESTIONS = new Set(['Array.isArray', 'Number.isFinite', 'Number.isInteger', 'Boolean', 'Object.hasOwn']);
/** Functions that add members to their first argument, or change its prototype. */
const OPENING = new Set(['assign', 'defineProperty', 'defineProperties', 'setPrototypeOf']);
const EQUALITY = new Set<string>(['==', '!=', '===', '!==']);

class FactCollector {
  readonly #tools: ReadonlyMap<Node, CalledTool>;
  readonly #toolVariables: ReadonlySet<string>;
  readonly #types: Range[] = [];
  readonly #tried: Range[] = [];
  readonly #calls: CallFact[] = [];
  readonly #toolMembers: number[] = [];
  readonly #assigned = new Set<string>();
  readonly #provided = new Set<string>();
  readonly #tested = new Set<string>();
  readonly #asked = new Set<string>();
  readonly #doubted = new Set<string>();
  readonly #annotated = new Set<string>();
  readonly #properties: Range[] = [];
  readonly #literals: number[] = [];
  readonly #functions: Range[] = [];
  readonly #coercions: Range[] = [];
  readonly #switches: SwitchFact[] = [];
  readonly #ownShapes = new Set<string>();
  readonly #taken: [number, string][] = [];
  /** Members that a variable's declaration copies: `const total = page.total`. */
  readonly #copied: [member: string, variable: string][] = [];
  readonly #members: { at: number; chain: Chain }[] = [];
  readonly #chains = new Chains();
  readonly #loose = new Set<string>();
  readonly #collected = new Set<string>();
  readonly #ownTypes = new Set<string>();
  #hasOpenClasses = false;

  constructor(tools: ReadonlyMap<Node, CalledTool>, toolVariables: ReadonlySet<string>) {
    this.#tools = tools;
    this.#toolVariables = toolVariables;
  }

  visit(visit: Visit): void {
    const { node } = visit;
    if (isTypeOnly(visit)) this.#types.push([node.start, node.end]);
    switch (node.type) {
      case 'CallExpression':
      case 'NewExpression':
        return this.#call(node);
      case 'MemberExpression':
        return this.#member(visit, node);
      case 'AssignmentExpression':
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
        return this.#note(this.#assigned, keyName(node));
      case 'TryStatement':
        if (node.handler !== null) this.#tried.push([node.block.start, node.block.end]);
        return;
      case 'TSTypeAliasDeclaration':
      case 'TSInterfaceDeclaration':
        return this.#note(this.#ownTypes, node.id.name);
      case 'TSTypeLiteral':
        this.#ownShapes.add(shapeOf(node));
        return;
      case 'FunctionDeclaration':
      case 'FunctionExpression':
      case 'ArrowFunctionExpression':
        this.#functions.push([node.start, node.end]);
        return;
      case 'VariableDeclarator':
        return this.#declare(node);
      case 'BinaryExpression':
        if (node.operator === '==' || node.operator === '!=') this.#coercions.push([node.start, node.end]);
        if (node.operator === 'in' && node.left.type === 'Literal') this.#provided.add(String(node.left.value));
        return;
      case 'SwitchStatement':
        this.#switches.push(switchFact(node));
        return;
      case 'TSTypeParameter':
        return this.#note(this.#ownTypes, node.name.name);
      default:
    }
  }

  facts({ references, declared }: SyntaxIndex): Omit<SourceFacts, 'added' | 'refusals' | 'texts' | 'toolVariables'> {
    for (const [member, variable] of this.#copied) if (this.#doubted.has(variable)) this.#provided.add(member);
    const ofAssigned = this.#chains.naming(this.#assigned);
    const mentions: [number, number, string][] = [];
    for (const name of new Set([...this.#loose, ...this.#collected, ...this.#annotated])) {
      for (const visit of [...(references.get(name) ?? []), ...(declared.get(name) ?? [])])
        mentions.push([visit.node.start, endOfChain(visit), name]);
    }
    return {
      types: this.#types,
      tried: this.#tried,
      calls: this.#calls,
      toolMembers: this.#toolMembers,
      assigned: [...this.#assigned],
      provided: [...this.#provided],
      tested: [...this.#tested],
      asked: [...this.#asked],
      doubted: [...this.#doubted],
      taken: this.#taken,
      afterAssigned: this.#members.filter(({ chain }) => ofAssigned.has(chain)).map(({ at }) => at),
      loose: [...this.#loose],
      annotated: [...this.#annotated],
      properties: this.#properties,
      literals: this.#literals,
      functions: this.#functions,
      coercions: this.#coercions,
      switches: this.#switches,
      ownShapes: [...this.#ownShapes],
      mentions,
      ownTypes: [...this.#ownTypes],
      hasOpenClasses: this.#hasOpenClasses,
    };
  }

  #call(node: NodeOf<'CallExpression'> | NodeOf<'NewExpression'>): void {
    const callee = unwrapped(node.callee);
    const method = callee.type === 'MemberExpression' ? (memberName(callee) ?? '') : '';
    const first = node.arguments[0];
    const opens = OPENING.has(method) || (callee.type === 'Identifier' && callee.name === 'Proxy');
    if (opens && first !== undefined) this.#open(first);
    const collects =
      COLLECTING.has(method) && callee.type === 'MemberExpression' ? this.#chains.of(callee.object).root : '';
    if (collects !== '') this.#collected.add(collects);
    if (first?.type === 'Literal' && (method === 'hasOwnProperty' || method === 'has'))
      this.#provided.add(String(first.value));
    this.#calls.push({
      start: node.start,
      end: node.end,
      ...(this.#tools.get(node) ?? { tool: '' }),
      collects,
      isParse:
        method === 'parse' && callee.type === 'MemberExpression' && this.#chains.of(callee.object).root === 'JSON',
      isSpread: node.arguments.some(
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
      this.#toolMembers.push(node.property.start);
    if (chain.root === 'globalThis') this.#asked.add(name);
    // The tools object throws for an unknown name, so a test of `tools.x` handles no absence.
    if (chain.root === 'tools' && !chain.isNamed) return;
    this.#members.push({ at: node.property.start, chain });
    const outer = outermost(visit);
    const doubt = doubtOf(outer);
    if (doubt === 'provided') this.#provided.add(name);
    if (doubt === 'tested') this.#tested.add(name);
    const holder = outer.parent?.node;
    if (holder?.type === 'VariableDeclarator' && holder.id.type === 'Identifier')
      this.#copied.push([name, holder.id.name]);
  }

  /** Records the target of an assignment, of `++` or `--`, or of a `for … of` or `for … in`. */
  #assign(target: Node): void {
    const inner = unwrapped(target);
    switch (inner.type) {
      case 'Identifier':
        this.#loose.add(inner.name);
        return;
      case 'MemberExpression': {
        const name = memberName(inner);
        if (name === undefined) this.#open(inner.object);
        else this.#assigned.add(name);
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
   * Marks a variable as loose if its value comes from `reduce` or is a proxy: such a value may have members that the
   * source never names.
   */
  #declare({ id, init }: NodeOf<'VariableDeclarator'>): void {
    if (id.type !== 'Identifier' || init === null) return;
    const made = unwrapped(init);
    if (made.type !== 'CallExpression' && made.type !== 'NewExpression') return;
    const callee = unwrapped(made.callee);
    const name =
      callee.type === 'MemberExpression' ? memberName(callee) : callee.type === 'Identifier' ? callee.name : '';
    if (name === 'reduce' || name === 'reduceRight' || name === 'Proxy') this.#loose.add(id.name);
  }

  /**
   * Marks the variable at the start of the expression as loose: the expression's value receives members that the source
   * never names. If the value is `this` or a prototype, no class is fully known.
   */
  #open(object: Node): void {
    const inner = unwrapped(object);
    const { root, isThis } = this.#chains.of(inner);
    if (root !== '') this.#loose.add(root);
    this.#hasOpenClasses ||= isThis || (root !== '' && isPrototype(inner));
  }

  #identifier(visit: Visit, node: NodeOf<'Identifier'>): void {
    if (isAnnotated(node)) this.#annotated.add(node.name);
    const { parent } = visit;
    if (parent?.node.type === 'UnaryExpression' && parent.node.operator === 'typeof') this.#asked.add(node.name);
    else if (doubtOf(outermost(visit)) !== undefined) this.#doubted.add(node.name);
    // A parameter with a default may receive another value.
    if (parent?.node.type === 'AssignmentPattern' && visit.key === 'left' && isParameter(parent))
      this.#loose.add(node.name);
  }

  #property(visit: Visit, node: NodeOf<'Property'>): void {
    const pattern = visit.parent;
    if (pattern?.node.type === 'ObjectExpression') this.#properties.push([node.start, node.end]);
    if (pattern?.node.type !== 'ObjectPattern') return;
    const name = keyName(node);
    if (name === undefined) return;
    const isOptional = pattern.parent?.node.type === 'AssignmentPattern' && isParameter(pattern.parent);
    if (node.value.type === 'AssignmentPattern' || isOptional) this.#provided.add(name);
    const variable = node.value.type === 'AssignmentPattern' ? node.value.left : node.value;
    if (variable.type === 'Identifier') this.#taken.push([node.key.start, variable.name]);
  }

  #literal(visit: Visit, node: NodeOf<'ObjectExpression'>): void {
    if (node.properties.some((property) => property.type === 'SpreadElement' || property.computed)) return;
    const { parent } = outermost(visit);
    this.#literals.push(node.start);
    if (parent?.node.type === 'Property') this.#literals.push(parent.node.start);
  }

  #note(names: Set<string>, name: string | undefined): void {
    if (name !== undefined) names.add(name);
  }
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
function shapeOf({ members }: NodeOf<'TSTypeLiteral'>): string {
  return members
    .map((member) => (member.type === 'TSPropertySignature' ? (keyName(member) ?? '') : ''))
    .toSorted((left, right) => (left < right ? -1 : 1))
    .join();
}

/** Whether the code handles the absence of the value, or at least tests the value. */
function doubtOf({ key, parent }: Visit): 'provided' | 'tested' | undefined {
  const holder = parent?.node;
  switch (holder?.type) {
    case 'LogicalExpression':
      return 'provided';
    case 'MemberExpression':
      return key === 'object' && holder.optional ? 'provided' : undefined;
    case 'CallExpression':
      return (key === 'callee' && holder.optional) || (key === 'arguments' && isQuestion(holder))
        ? 'provided'
        : undefined;
    case 'UnaryExpression':
      if (holder.operator === 'delete' || holder.operator === 'typeof') return 'provided';
      return holder.operator === '!' ? 'tested' : undefined;
    case 'IfStatement':
    case 'ConditionalExpression':
    case 'WhileStatement':
    case 'DoWhileStatement':
    case 'ForStatement':
      return key === 'test' ? 'tested' : undefined;
    case 'BinaryExpression':
      return EQUALITY.has(holder.operator) ? 'tested' : undefined;
    default:
      return undefined;
  }
}

function isQuestion(call: NodeOf<'CallExpression'>): boolean {
  const callee = unwrapped(call.callee);
  if (callee.type === 'Identifier') return QUESTIONS.has(callee.name);
  if (callee.type !== 'MemberExpression') return false;
  const object = unwrapped(callee.object);
  return object.type === 'Identifier' && QUESTIONS.has(`${object.name}.${memberName(callee) ?? ''}`);
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
