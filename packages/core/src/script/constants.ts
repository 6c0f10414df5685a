import type { SyntaxIndex } from './syntax-index.js';
import { isCompound, isTransparent, memberName, unwrapped } from './syntax.js';
import type { Compound, Node, NodeOf } from './syntax.js';
import { isWritten, type Visit } from './walk.js';

/** Functions that read what they are given and keep no hold of it. */
const READERS = new Set(['text', 'emit', 'String', 'structuredClone']);
const READING_OBJECTS = new Set(['console', 'JSON']);
/** Methods of lists that change nothing. Their callbacks get the items, so these must be plain. */
const READING_METHODS = new Set([
  'at',
  'concat',
  'entries',
  'every',
  'filter',
  'find',
  'findIndex',
  'flatMap',
  'forEach',
  'includes',
  'indexOf',
  'join',
  'keys',
  'map',
  'reduce',
  'slice',
  'some',
  'values',
]);

/**
 * The variables of a script that hold the same literal as long as they are there: declared once, under a name
 * that nothing else has, never assigned, and, where it is an object or a list, never given to anything that
 * could change it. A missed constant costs nothing; a wrong one would refuse a good script.
 */
export class Constants {
  readonly #index: SyntaxIndex;
  readonly #toolCalls: ReadonlySet<Node>;
  readonly #values = new Map<string, Node | undefined>();

  constructor(index: SyntaxIndex, toolCalls: ReadonlySet<Node>) {
    this.#index = index;
    this.#toolCalls = toolCalls;
  }

  /** The expression that gives the variable its value; undefined where that may change. */
  valueOf(name: string): Node | undefined {
    if (!this.#values.has(name)) this.#values.set(name, this.#find(name));
    return this.#values.get(name);
  }

  #find(name: string): Node | undefined {
    const [declared, ...others] = this.#index.declared.get(name) ?? [];
    const declarator = declared?.parent?.node;
    if (others.length > 0 || declared?.key !== 'id' || declarator?.type !== 'VariableDeclarator') return undefined;
    if (declarator.init === null) return undefined;
    const value = unwrapped(declarator.init);
    const uses = this.#index.references.get(name) ?? [];
    const isSame = isCompound(value)
      ? uses.every((use) => this.#isOnlyRead(use, value))
      : uses.every((use) => !isWritten(use));
    return isSame ? value : undefined;
  }

  /** Whether the object or list cannot change by this use of it. */
  #isOnlyRead(use: Visit, value: Compound): boolean {
    let at = use;
    for (let { parent } = at; parent !== undefined; { parent } = at) {
      const { node } = parent;
      switch (node.type) {
        case 'SpreadElement':
          // A copy of its own.
          return isFlat(value) || this.#isGivenToReader(parent);
        case 'MemberExpression':
          return at.key === 'object' && isReadMember(parent, node, value);
        case 'CallExpression':
          return at.key === 'arguments' && (this.#toolCalls.has(node) || isReader(node));
        case 'ForOfStatement':
          return at.key === 'right' && isFlat(value);
        case 'VariableDeclarator':
          return node.id.type !== 'Identifier' && isFlat(value);
        case 'TemplateLiteral':
          return parent.parent?.node.type !== 'TaggedTemplateExpression';
        case 'BinaryExpression':
        case 'UnaryExpression':
          return true;
        case 'Property':
        case 'ObjectExpression':
        case 'ArrayExpression':
          at = parent;
          continue;
        default:
          if (!isTransparent(node)) return false;
          at = parent;
      }
    }
    return false;
  }

  #isGivenToReader(spread: Visit): boolean {
    const literal = spread.parent;
    const call = literal?.parent?.node;
    return literal?.key === 'arguments' && call?.type === 'CallExpression' && this.#toolCalls.has(call);
  }
}

/** No member or item of it is an object or list of its own, which somebody could change through a copy. */
function isFlat(value: Compound): boolean {
  const parts: readonly (Node | null)[] = value.type === 'ArrayExpression' ? value.elements : value.properties;
  return parts.every((part) => part === null || !isCompound(unwrapped(part.type === 'Property' ? part.value : part)));
}

function isReadMember(member: Visit, node: NodeOf<'MemberExpression'>, value: Compound): boolean {
  if (isWritten(member)) return false;
  const { key, parent } = member;
  if (parent?.node.type === 'UnaryExpression' && parent.node.operator === 'delete') return false;
  const isCalled = key === 'callee' && parent?.node.type === 'CallExpression';
  return isFlat(value) && (!isCalled || READING_METHODS.has(memberName(node) ?? ''));
}

function isReader(call: NodeOf<'CallExpression'>): boolean {
  const callee = unwrapped(call.callee);
  if (callee.type === 'Identifier') return READERS.has(callee.name);
  if (callee.type !== 'MemberExpression') return false;
  const object = unwrapped(callee.object);
  return object.type === 'Identifier' && READING_OBJECTS.has(object.name);
}
