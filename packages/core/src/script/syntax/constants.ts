import type { SyntaxIndex } from './syntax-index.js';
import {
  isCompound,
  isTransparent,
  isWritten,
  memberName,
  innerExpression,
  type Compound,
  type Node,
  type NodeOf,
  type Visit,
} from './syntax.js';

/** Functions that only read their arguments and keep no reference to them. */
const READERS = new Set(['text', 'emit', 'String', 'structuredClone']);
const READING_OBJECTS = new Set(['console', 'JSON']);
/**
 * List methods that do not change their list. Their callbacks may change items that are objects or lists, so a list
 * with such items does not count as only read.
 */
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

/** Methods that call a function with each item. */
const ITERATING = new Set(['forEach', 'map', 'flatMap']);
const ASKING = new Set<Node['type']>([
  'BinaryExpression',
  'ConditionalExpression',
  'IfStatement',
  'LogicalExpression',
  'SwitchStatement',
  'WhileStatement',
]);
/**
 * Maximum number of evaluated expressions in one script. A constant counts at each use, because nested constants can
 * grow exponentially.
 */
const MAX_READ = 20_000;
/** Maximum number of items in a list whose items are evaluated individually. */
const MAX_CHOICES = 30;

/**
 * Finds the variables of a script that always hold the same value: declared once, under a unique name, never assigned,
 * and, if the value is an object or a list, never passed to code that could change the value. A missed constant costs
 * nothing; a variable that is wrongly found would reject a good script.
 */
export class Constants {
  readonly #index: SyntaxIndex;
  readonly #toolCalls: ReadonlySet<Node>;
  readonly #values = new Map<string, Node | undefined>();
  readonly #choices = new Map<string, readonly Node[]>();
  #read = 0;

  constructor(index: SyntaxIndex, toolCalls: ReadonlySet<Node>) {
    this.#index = index;
    this.#toolCalls = toolCalls;
  }

  /** Counts an evaluated expression. Returns false if the script exceeds MAX_READ. */
  mayRead(): boolean {
    return ++this.#read <= MAX_READ;
  }

  /** The expression that gives the variable its value; undefined if the value may change. */
  valueExpression(name: string): Node | undefined {
    if (!this.#values.has(name)) this.#values.set(name, this.#find(name));
    return this.#values.get(name);
  }

  /**
   * The expressions of the successive values of a loop variable or a callback's parameter:
   * `for (const state of ['open', 'closed'])`. Empty if the values are unknown or too many, or if the script tests or
   * changes the value.
   */
  choiceExpressions(name: string): readonly Node[] {
    let choices = this.#choices.get(name);
    if (choices === undefined) this.#choices.set(name, (choices = this.#findChoices(name)));
    return choices;
  }

  #findChoices(name: string): readonly Node[] {
    const [declared, ...others] = this.#index.declared.get(name) ?? [];
    const list = declared === undefined || others.length > 0 ? undefined : iteratedList(declared);
    const value = list?.type === 'Identifier' ? this.valueExpression(list.name) : list;
    if (value?.type !== 'ArrayExpression' || value.elements.length > MAX_CHOICES) return [];
    const items = value.elements.filter((item) => item !== null && item.type !== 'SpreadElement');
    const uses = this.#index.references.get(name) ?? [];
    const isSame = uses.every(
      (use) => !isWritten(use) && !isAskedAbout(use) && items.every((item) => this.#leaves(use, item)),
    );
    return isSame && items.length === value.elements.length ? items : [];
  }

  #leaves(use: Visit, item: Node): boolean {
    const value = innerExpression(item);
    return !isCompound(value) || this.#isOnlyRead(use, value);
  }

  #find(name: string): Node | undefined {
    const [declared, ...others] = this.#index.declared.get(name) ?? [];
    const declarator = declared?.parent?.node;
    if (others.length > 0 || declared?.key !== 'id' || declarator?.type !== 'VariableDeclarator') return undefined;
    if (declarator.init === null) return undefined;
    const value = innerExpression(declarator.init);
    const uses = this.#index.references.get(name) ?? [];
    const isSame = isCompound(value)
      ? uses.every((use) => this.#isOnlyRead(use, value))
      : uses.every((use) => !isWritten(use));
    return isSame ? value : undefined;
  }

  /** Whether this use can neither change the object or list nor keep a reference to it. */
  #isOnlyRead(use: Visit, value: Compound): boolean {
    let at = use;
    for (let { parent } = at; parent !== undefined; { parent } = at) {
      const { node } = parent;
      switch (node.type) {
        case 'SpreadElement':
          // A spread copies the value, but not the objects and lists inside it.
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

/** The list whose items a loop variable or a callback's first parameter holds in turn. */
function iteratedList({ node, key, parent }: Visit): Node | undefined {
  const declaration = parent?.parent;
  const loop = declaration?.parent?.node;
  if (key === 'id' && declaration?.key === 'left' && loop?.type === 'ForOfStatement')
    return innerExpression(loop.right);
  const callback = parent?.node;
  const call = parent?.parent?.node;
  if (key !== 'params' || call?.type !== 'CallExpression' || call.arguments[0] !== callback) return undefined;
  const callee = innerExpression(call.callee);
  const isFirst = (callback as { params?: readonly unknown[] | undefined }).params?.[0] === node;
  if (!isFirst || callee.type !== 'MemberExpression' || !ITERATING.has(memberName(callee) ?? '')) return undefined;
  return innerExpression(callee.object);
}

/** Whether the script's control flow may depend on the value. */
function isAskedAbout(use: Visit): boolean {
  for (let at = use; at.parent !== undefined; at = at.parent) {
    const { node } = at.parent;
    if (
      ASKING.has(node.type) &&
      (at.key === 'test' || at.key === 'discriminant' || at.key === 'left' || at.key === 'right')
    )
      return true;
    if (node.type.endsWith('Statement')) return false;
  }
  return false;
}

/** Whether no member or item of the value is an object or a list, which a copy would share. */
function isFlat(value: Compound): boolean {
  const parts: readonly (Node | null)[] = value.type === 'ArrayExpression' ? value.elements : value.properties;
  return parts.every(
    (part) => part === null || !isCompound(innerExpression(part.type === 'Property' ? part.value : part)),
  );
}

function isReadMember(member: Visit, node: NodeOf<'MemberExpression'>, value: Compound): boolean {
  if (isWritten(member)) return false;
  const { key, parent } = member;
  if (parent?.node.type === 'UnaryExpression' && parent.node.operator === 'delete') return false;
  const isCalled = key === 'callee' && parent?.node.type === 'CallExpression';
  return isFlat(value) && (!isCalled || READING_METHODS.has(memberName(node) ?? ''));
}

function isReader(call: NodeOf<'CallExpression'>): boolean {
  const callee = innerExpression(call.callee);
  if (callee.type === 'Identifier') return READERS.has(callee.name);
  if (callee.type !== 'MemberExpression') return false;
  const object = innerExpression(callee.object);
  return object.type === 'Identifier' && READING_OBJECTS.has(object.name);
}
