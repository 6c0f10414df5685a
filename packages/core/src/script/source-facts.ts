import type { SyntaxIndex } from './syntax-index.js';
import { isTransparent, memberName, unwrapped } from './syntax.js';
import type { Node, NodeOf } from './syntax.js';
import type { ToolCall } from './tool-calls.js';
import { walk } from './walk.js';
import type { Visit } from './walk.js';

/** What the type checker's complaints are weighed by. Offsets count in the text that was parsed. */
export interface SourceFacts {
  /** Syntax of types only: nothing of it is there when the script runs. */
  readonly types: readonly Range[];
  /** Calls in source order; an outer call stands before those inside of it. `tool` is empty for other calls. */
  readonly calls: readonly (readonly [start: number, end: number, tool: string])[];
  /** Blocks of `try` whose failure is caught. */
  readonly tried: readonly Range[];
  /** Members that the script assigns somewhere, or that its classes have: `total.count = 1`. */
  readonly assigned: readonly string[];
  /** Members whose absence the script provides for: `a.b ?? c`, `a.b?.()`, `Array.isArray(a.b)`. */
  readonly provided: readonly string[];
  /** Members that the script only asks about: `if (a.b)`, `!a.b`, `a.b === null`. */
  readonly tested: readonly string[];
  /** Names that the script asks about by `typeof`. */
  readonly asked: readonly string[];
  /** Where a variable is given a new value. */
  readonly targets: readonly (readonly [at: number, name: string])[];
  /** Where such variables are mentioned, each with what is chained to it. */
  readonly mentions: readonly (readonly [start: number, end: number, name: string])[];
}

type Range = readonly [start: number, end: number];

export function sourceFacts(index: SyntaxIndex, toolCalls: readonly ToolCall[]): SourceFacts {
  const tools = new Map<Node, string>(toolCalls.map(({ node, tool }) => [node, tool]));
  const types: Range[] = [];
  const tried: Range[] = [];
  const calls: [number, number, string][] = [];
  const members = { assigned: new Set<string>(), provided: new Set<string>(), tested: new Set<string>() };
  const asked = new Set<string>();
  walk(index.program, (visit) => {
    const { node } = visit;
    if (isTypeOnly(visit)) types.push([node.start, node.end]);
    else if (node.type === 'CallExpression' || node.type === 'NewExpression')
      calls.push([node.start, node.end, tools.get(node) ?? '']);
    else if (node.type === 'MemberExpression') noteMember(visit, node, members);
    else if (node.type === 'MethodDefinition' || node.type === 'PropertyDefinition') {
      if (!node.computed && node.key.type === 'Identifier') members.assigned.add(node.key.name);
    } else if (node.type === 'TryStatement') {
      if (node.handler !== null) tried.push([node.block.start, node.block.end]);
    } else if (node.type === 'UnaryExpression' && node.operator === 'typeof') {
      const argument = unwrapped(node.argument);
      if (argument.type === 'Identifier') asked.add(argument.name);
    }
  });
  return {
    types,
    tried,
    calls,
    assigned: [...members.assigned],
    provided: [...members.provided],
    tested: [...members.tested],
    asked: [...asked],
    ...reassignments(index),
  };
}

/** Variables that are given a new value, and where each is mentioned. */
function reassignments({ references }: SyntaxIndex): Pick<SourceFacts, 'targets' | 'mentions'> {
  const targets: [number, string][] = [];
  const mentions: [number, number, string][] = [];
  for (const [name, visits] of references) {
    const assigned = visits.filter(({ key, parent }) => key === 'left' && parent?.node.type === 'AssignmentExpression');
    if (assigned.length === 0) continue;
    for (const { node } of assigned) targets.push([node.start, name]);
    for (const visit of visits) mentions.push([visit.node.start, endOfChain(visit), name]);
  }
  return { targets, mentions };
}

/** Where the members and calls that are chained to an expression end: `a.b(c).d` from `a` on. */
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

const TYPE_ONLY = new Set<Node['type']>([
  'TSTypeAnnotation',
  'TSTypeParameterInstantiation',
  'TSTypeParameterDeclaration',
  'TSTypeAliasDeclaration',
  'TSInterfaceDeclaration',
  'TSDeclareFunction',
  'TSClassImplements',
]);

function isTypeOnly({ node, key, parent }: Visit): boolean {
  if (TYPE_ONLY.has(node.type)) return true;
  const holder = parent?.node.type;
  return (
    key === 'typeAnnotation' &&
    (holder === 'TSAsExpression' || holder === 'TSSatisfiesExpression' || holder === 'TSTypeAssertion')
  );
}

type Members = Record<'assigned' | 'provided' | 'tested', Set<string>>;

function noteMember(visit: Visit, node: NodeOf<'MemberExpression'>, members: Members): void {
  const name = memberName(node);
  const object = unwrapped(node.object);
  // The tools object answers for a name that is not there by throwing.
  if (name === undefined || (object.type === 'Identifier' && object.name === 'tools')) return;
  const use = useOf(visit);
  if (use !== undefined) members[use].add(name);
}

/** What becomes of a member's value, as far as it tells whether the script reckons with its absence. */
function useOf(member: Visit): keyof Members | undefined {
  let at = member;
  while (at.parent !== undefined && unwrapped(at.parent.node) === unwrapped(at.node)) at = at.parent;
  const { key, parent } = at;
  const holder = parent?.node;
  switch (holder?.type) {
    case 'AssignmentExpression':
      return key === 'left' ? 'assigned' : undefined;
    case 'UpdateExpression':
      return 'assigned';
    case 'LogicalExpression':
      return 'provided';
    case 'MemberExpression':
    case 'CallExpression':
      if ((key === 'object' || key === 'callee') && holder.optional) return 'provided';
      return holder.type === 'CallExpression' && isQuestion(holder) ? 'provided' : undefined;
    case 'UnaryExpression':
      if (holder.operator === 'delete' || holder.operator === 'typeof') return 'provided';
      return holder.operator === '!' ? 'tested' : undefined;
    case 'IfStatement':
    case 'ConditionalExpression':
    case 'WhileStatement':
      return key === 'test' ? 'tested' : undefined;
    case 'BinaryExpression':
      return EQUALITY.has(holder.operator) ? 'tested' : undefined;
    case 'AssignmentPattern':
      return 'provided';
    default:
      return undefined;
  }
}

const EQUALITY = new Set<string>(['==', '!=', '===', '!==']);
const QUESTIONS = new Set(['Array.isArray', 'Number.isFinite', 'Number.isInteger', 'Boolean', 'Object.hasOwn']);

function isQuestion(call: NodeOf<'CallExpression'>): boolean {
  const callee = unwrapped(call.callee);
  if (callee.type === 'Identifier') return QUESTIONS.has(callee.name);
  if (callee.type !== 'MemberExpression') return false;
  const object = unwrapped(callee.object);
  return object.type === 'Identifier' && QUESTIONS.has(`${object.name}.${memberName(callee) ?? ''}`);
}
