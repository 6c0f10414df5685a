import type { KnownArgument } from '../../protocol/index.js';
import { formatPath } from '../../text/value-path.js';
import type { Constants } from './constants.js';
import { isTransparent, memberName, innerExpression, type Node, type NodeOf } from './syntax.js';

const DEEPEST = 64;
/**
 * Maximum number of members and items whose offsets are recorded. A fault in any other member or item is reported at
 * the value that contains it.
 */
const MAX_PLACES = 1_000;

/** The value of an expression whose parts are all literal JSON data; undefined for any other expression. */
export function literalValue(expression: Node): { readonly value: unknown } | undefined {
  const known = new Evaluation().of(expression);
  if (known.kind === 'unknown') return undefined;
  const { value, unknown, open } = flatArgument(known, expression.start);
  return unknown.length + open.length > 0 ? undefined : { value };
}

/**
 * The members of an object expression that are literal strings, numbers and booleans. Undefined if no member is such a
 * literal.
 */
export function literalMembers(expression: Node): Readonly<Record<string, string | number | boolean>> | undefined {
  const known = new Evaluation().of(expression);
  if (known.kind !== 'object') return undefined;
  const members = [...known.members].flatMap(([key, { known: member }]) => {
    const value = member.kind === 'primitive' ? member.value : undefined;
    return value === undefined || value === null ? [] : [[key, value] as const];
  });
  return members.length === 0 ? undefined : Object.fromEntries(members);
}

/**
 * The parts of an expression's value that are certain before the script runs. A variable that always holds the same
 * literal counts as that literal; a variable that holds several literals in turn gives one entry for each. Empty if
 * nothing is certain.
 */
export function knownArguments(expression: Node, constants: Constants): readonly KnownArgument[] {
  const first = new Evaluation(constants);
  const known = first.of(expression);
  const { changing } = first;
  const all =
    changing === undefined
      ? [known]
      : constants
          .choiceExpressions(changing)
          .map((choice) => new Evaluation(constants, [changing, choice]).of(expression));
  return all.filter(({ kind }) => kind !== 'unknown').map((one) => flatArgument(one, expression.start));
}

type KnownPart =
  /** `isGiven`: the value is certainly not undefined. */
  | { readonly kind: 'unknown'; readonly isGiven?: true | undefined }
  | { readonly kind: 'primitive'; readonly value: string | number | boolean | null | undefined }
  | { readonly kind: 'array'; readonly items: readonly Part[] }
  | { readonly kind: 'object'; readonly members: ReadonlyMap<string, Part>; readonly isOpen: boolean };

/**
 * A member or an item of a value. `offset` is undefined if the part is written elsewhere, as in a constant's
 * initializer.
 */
interface Part {
  readonly known: KnownPart;
  readonly offset: number | undefined;
}

const UNTYPED = new Set<Node['type']>(['TSAnyKeyword', 'TSNeverKeyword', 'TSUnknownKeyword']);

const UNKNOWN: KnownPart = { kind: 'unknown' };
const GIVEN: KnownPart = { kind: 'unknown', isGiven: true };

class Evaluation {
  /** The first variable that holds different literals in turn. */
  changing: string | undefined;
  readonly #constants: Constants | undefined;
  readonly #chosenValue: readonly [name: string, value: Node] | undefined;
  /** The number of variables and member accesses that the evaluation has followed to reach the current expression. */
  #constantsOpen = 0;

  /** `chosen`: a variable, and the value that this evaluation assumes for it. */
  constructor(constants?: Constants, chosen?: readonly [name: string, value: Node]) {
    this.#constants = constants;
    this.#chosenValue = chosen;
  }

  of(expression: Node, depth = 0): KnownPart {
    if (depth > DEEPEST || this.#constants?.mayRead() === false) return UNKNOWN;
    // The check does not judge a value that the script declares as `any`, `unknown` or `never`.
    if (this.#constants !== undefined && isUntyped(expression)) return UNKNOWN;
    const node = innerExpression(expression);
    switch (node.type) {
      case 'Literal':
        return 'bigint' in node || 'regex' in node
          ? UNKNOWN
          : primitive(node.value as string | number | boolean | null);
      case 'TemplateLiteral':
        return node.expressions.length === 0 ? text(node.quasis[0]?.value.cooked) : GIVEN;
      case 'UnaryExpression':
        return signedNumber(node);
      case 'ArrayExpression':
        return this.#array(node, depth);
      case 'ObjectExpression':
        return this.#object(node, depth);
      case 'BinaryExpression':
        return GIVEN;
      case 'Identifier':
        return this.#variable(node.name, depth);
      case 'MemberExpression':
        return this.#member(node, depth);
      default:
        return UNKNOWN;
    }
  }

  #array(node: NodeOf<'ArrayExpression'>, depth: number): KnownPart {
    const items: Part[] = [];
    for (const element of node.elements) {
      if (element === null || element.type === 'SpreadElement') return GIVEN;
      items.push(this.#part(element, element.start, depth));
    }
    return { kind: 'array', items };
  }

  #object(node: NodeOf<'ObjectExpression'>, depth: number): KnownPart {
    const members = new Map<string, Part>();
    let isOpen = false;
    for (const property of node.properties) {
      if (property.type === 'SpreadElement') {
        const spread = this.#part(property.argument, property.start, depth).known;
        if (spread.kind === 'object') for (const [key, part] of spread.members) members.set(key, part);
        if (spread.kind === 'object' && !spread.isOpen) continue;
      } else {
        const key = property.computed ? undefined : literalKey(property.key);
        // These members change the meaning of the other members.
        if (key === '__proto__' || key === 'toJSON') return UNKNOWN;
        if (key !== undefined) {
          const isPlain = !property.method && property.kind === 'init';
          members.set(key, isPlain ? this.#part(property.value, property.start, depth) : unknownAt(property.start));
          continue;
        }
      }
      // A spread value or a computed key may replace any member before it.
      isOpen = true;
      for (const [before, { offset }] of members) members.set(before, unknownAt(offset));
    }
    return { kind: 'object', members, isOpen };
  }

  #variable(name: string, depth: number): KnownPart {
    if (this.#constants === undefined) return UNKNOWN;
    if (name === 'undefined') return primitive(undefined);
    const value = this.#chosenValue?.[0] === name ? this.#chosenValue[1] : this.#constants.valueExpression(name);
    if (value === undefined && this.#constants.choiceExpressions(name).length > 0) this.changing ??= name;
    return value === undefined ? UNKNOWN : this.#elsewhere(value, depth);
  }

  #member(node: NodeOf<'MemberExpression'>, depth: number): KnownPart {
    const name = memberName(node);
    if (this.#constants === undefined || name === undefined) return UNKNOWN;
    const object = this.#elsewhere(node.object, depth);
    return (object.kind === 'object' ? object.members.get(name)?.known : undefined) ?? UNKNOWN;
  }

  #elsewhere(node: Node, depth: number): KnownPart {
    this.#constantsOpen++;
    const known = this.of(node, depth + 1);
    this.#constantsOpen--;
    return known;
  }

  #part(node: Node, offset: number, depth: number): Part {
    return { known: this.of(node, depth + 1), offset: this.#constantsOpen === 0 ? offset : undefined };
  }
}

function flatArgument(root: KnownPart, offset: number): KnownArgument {
  const unknown: string[] = [];
  const given: string[] = [];
  const open: string[] = [];
  const places: [string, number][] = [];
  const write = (known: KnownPart, path: string): unknown => {
    if (known.kind === 'primitive') return known.value;
    if (known.kind === 'unknown') {
      unknown.push(path);
      if (known.isGiven === true) given.push(path);
      return null;
    }
    const inner = ({ known: value, offset: at }: Part, key: string | number): unknown => {
      const place = formatPath([key], path);
      if (at !== undefined && places.length < MAX_PLACES) places.push([place, at]);
      return write(value, place);
    };
    if (known.kind === 'array') return known.items.map((item, index) => inner(item, index) ?? null);
    if (known.isOpen) open.push(path);
    const members = [...known.members].map(([key, part]) => [key, inner(part, key)] as const);
    return Object.fromEntries(members.filter(([, value]) => value !== undefined));
  };
  const path = formatPath([]);
  places.push([path, offset]);
  return { value: write(root, path), unknown, given, open, places };
}

function isUntyped(expression: Node): boolean {
  let node: Node = expression;
  while (isTransparent(node)) {
    const { typeAnnotation } = node as { typeAnnotation?: Node | undefined };
    if (typeAnnotation !== undefined && UNTYPED.has(typeAnnotation.type)) return true;
    node = node.expression;
  }
  return false;
}

function unknownAt(offset: number | undefined): Part {
  return { known: UNKNOWN, offset };
}

function primitive(value: string | number | boolean | null | undefined): KnownPart {
  return { kind: 'primitive', value };
}

function text(cooked: string | null | undefined): KnownPart {
  return typeof cooked === 'string' ? primitive(cooked) : UNKNOWN;
}

function signedNumber({ argument, operator }: NodeOf<'UnaryExpression'>): KnownPart {
  if (argument.type !== 'Literal' || typeof argument.value !== 'number') return UNKNOWN;
  return operator === '-' ? primitive(-argument.value) : operator === '+' ? primitive(argument.value) : UNKNOWN;
}

function literalKey(key: Node): string | undefined {
  if (key.type === 'Identifier') return key.name;
  return key.type === 'Literal' ? String(key.value) : undefined;
}
