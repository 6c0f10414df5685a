import { isRecord, type JsonValue } from '../protocol/json.js';
import type { Tool } from '../protocol/tools.js';
import { joinUnion, parenthesisedType, propertyName } from './schema-types.js';

/**
 * The shapes of results of tools without an output schema: kinds of values and names of members, never a value.
 * Shapes form a lattice: merging only adds kinds, makes members optional, or drops detail (members → record → just
 * `object`), and the dropped detail depends only on the merged shapes. So a shape does not depend on the order of the
 * calls, and its size is bounded.
 */
export interface ObservedShapes {
  /**
   * Records the shape of a result, which is JSON data. Never throws. Costs almost nothing once a tool's results bring
   * no new shapes.
   */
  observe(tool: Tool, result: unknown, principal: string | undefined): void;
  /**
   * Returns the type of the results of this principal's calls, on one line; undefined if the tool has an output schema,
   * or if there were no results. `depth`: the maximum depth of described objects and arrays.
   */
  resultType(tool: Tool, principal: string | undefined, depth?: number): string | undefined;
  /**
   * Returns the type that `resultType` has returned before the first call of this harness: it does not change, so that
   * a text which contains it does not change during a conversation.
   */
  firstType(tool: Tool, principal: string | undefined, depth?: number): string | undefined;
}

/** Maximum number of principals whose results of one tool are recorded; a new principal replaces the oldest. */
const MAX_PRINCIPALS = 1_000;

/**
 * Creates the memory of shapes. The shapes of a tool are kept as long as the tool exists, or as long as its
 * `resultShapes` keep them; a new tool of the same name has its own shapes. Names of members can reveal a user's data,
 * so no principal sees the shapes of another principal's results.
 */
export function createObservedShapes(): ObservedShapes {
  const observed = new WeakMap<object, Map<string | undefined, Observation>>();
  const find = (tool: Tool, principal: string | undefined): Observation => {
    const { resultShapes } = tool;
    let ofTool = observed.get(resultShapes ?? tool);
    if (ofTool === undefined) observed.set(resultShapes ?? tool, (ofTool = new Map()));
    let observation = ofTool.get(principal);
    if (observation === undefined) {
      const first = readKeptShape(resultShapes?.read(principal)) ?? NOTHING;
      ofTool.set(principal, (observation = { first, shape: first, calls: 0, unchanged: 0 }));
      // defence: remembered-principals
      if (ofTool.size > MAX_PRINCIPALS) ofTool.delete(ofTool.keys().next().value);
    }
    return observation;
  };
  const observedType = (tool: Tool, principal: string | undefined, which: 'first' | 'shape', depth?: number) => {
    const isKnown = tool.resultShapes !== undefined || observed.get(tool)?.has(principal) === true;
    if (tool.outputSchema !== undefined || !isKnown) return undefined;
    const shape = find(tool, principal)[which];
    return shape === NOTHING ? undefined : typeOfShape(shape, depth);
  };
  return {
    observe(tool, result, principal) {
      const observation = find(tool, principal);
      const before = observation.shape;
      look(observation, result);
      if (observation.shape !== before) tool.resultShapes?.write(principal, keptShape(observation.shape));
    },
    resultType: (tool, principal, depth) => observedType(tool, principal, 'shape', depth),
    firstType: (tool, principal, depth) => observedType(tool, principal, 'first', depth),
  };
}

/** The shape of the values observed at one path of a result. Immutable. */
export interface Shape {
  /** Bits of `KINDS`. */
  readonly kinds: number;
  /** The elements of arrays; undefined if every array was empty or too deep to visit. */
  readonly element?: Shape | undefined;
  readonly members?: Members | undefined;
}

/** `named`: each member; `record`: the names are data; `closed`: the members are too many or too deep to describe. */
type Members =
  | { readonly how: 'named'; readonly byName: ReadonlyMap<string, Member> }
  | { readonly how: 'record'; readonly value: Shape }
  | { readonly how: 'closed' };

interface Member {
  readonly shape: Shape;
  /** True: every object at this path had the member. */
  readonly always: boolean;
}

interface Observation {
  /** The shape before the first call of this harness. */
  readonly first: Shape;
  shape: Shape;
  calls: number;
  /** Number of consecutive observations that changed nothing. */
  unchanged: number;
}

/** After this many observations without a change, only one call in `SELDOM` is observed. */
const SETTLED = 24;
const SELDOM = 256;

function look(observation: Observation, result: unknown): void {
  observation.calls += 1;
  if (observation.unchanged >= SETTLED && observation.calls % SELDOM !== 0) return;
  const merged = mergeShapes(observation.shape, valueShape(result));
  observation.unchanged = merged === observation.shape ? observation.unchanged + 1 : 0;
  observation.shape = merged;
}

const KINDS = { string: 1, number: 2, boolean: 4, null: 8, undefined: 16, array: 32, object: 64 } as const;
const NOTHING: Shape = { kinds: 0 };
const CLOSED: Members = { how: 'closed' };

/** Maximum depth of arrays and objects. */
const MAX_DEPTH = 8;
/** Maximum names of one object; if there are more, the names count as data. */
const MAX_NAMES = 64;
/** Maximum number of parts of one tool's shape. The members of an object divide the object's maximum equally. */
const MAX_PLACES = 4_000;
/** Maximum visited elements of one array, and maximum visited values of one result. */
const MAX_ELEMENTS = 32;
const MAX_VALUES = 2_000;
const MAX_TYPE_LENGTH = 4_000;

/** Returns the shape of one value, which depends only on the value. */
export function valueShape(value: unknown): Shape {
  return withinBounds(readShape(value, 0, { left: MAX_VALUES }), MAX_PLACES);
}

function readShape(value: unknown, depth: number, values: { left: number }): Shape {
  values.left -= 1;
  if (values.left < 0) return NOTHING;
  if (value === null) return { kinds: KINDS.null };
  if (Array.isArray(value)) return readArray(value, depth, values);
  if (typeof value === 'object') return { kinds: KINDS.object, members: readMembers(value, depth, values) };
  return { kinds: KINDS[typeof value as keyof typeof KINDS] ?? 0 };
}

function readArray(elements: readonly unknown[], depth: number, values: { left: number }): Shape {
  if (depth >= MAX_DEPTH || elements.length === 0) return { kinds: KINDS.array };
  const stride = Math.max(1, elements.length / MAX_ELEMENTS);
  let element: Shape = NOTHING;
  for (let index = 0; index < elements.length; index += stride)
    element = joinShapes(element, readShape(elements[Math.floor(index)], depth + 1, values));
  return { kinds: KINDS.array, element };
}

function readMembers(value: object, depth: number, values: { left: number }): Members {
  if (depth >= MAX_DEPTH) return CLOSED;
  const names = Object.keys(value);
  const record = value as Readonly<Record<string, unknown>>;
  if (names.length <= MAX_NAMES && names.every(isMemberName)) {
    const byName = new Map<string, Member>();
    for (const name of names) byName.set(name, { shape: readShape(record[name], depth + 1, values), always: true });
    return { how: 'named', byName };
  }
  let shape: Shape = NOTHING;
  for (const name of names.slice(0, MAX_NAMES)) shape = joinShapes(shape, readShape(record[name], depth + 1, values));
  return { how: 'record', value: shape };
}

/** Matches most names; the other patterns are slow to compile and to run. */
const PLAIN_NAME = /^[a-z_][a-z_]{0,39}$/i;
const MAX_NAME_LENGTH = 40;
const MAX_NAME_WORDS = 3;

/**
 * Whether a key looks like a member's name rather than like data (an id, a path, a date, an address) or like a sentence,
 * which a model would read. Accepts names in any writing system, without control or direction characters and without
 * long runs of digits.
 */
function isMemberName(key: string): boolean {
  if (PLAIN_NAME.test(key)) return true;
  // defence: observed-names-are-no-sentences
  if (key.length > MAX_NAME_LENGTH || key.split(' ').length > MAX_NAME_WORDS) return false;
  if (!/^[$_@]*\p{L}[\p{L}\p{M}\p{N}_$: -]*$/u.test(key)) return false;
  return (
    !/\d{4}|\p{Default_Ignorable_Code_Point}/u.test(key) && !(key.length >= 8 && /^(?=.*\d)[\da-f-]+$/iu.test(key))
  );
}

/** Maximum number of parts of a kept shape. */
const MAX_KEPT_PLACES = 500;

/** The shape as JSON, with the detail that is worth keeping. */
function keptShape(shape: Shape): JsonValue {
  return shapeJson(withinBounds(shape, MAX_KEPT_PLACES));
}

function shapeJson({ kinds, element, members }: Shape): JsonValue {
  return [
    kinds,
    element === undefined ? null : shapeJson(element),
    members === undefined ? null : membersJson(members),
  ];
}

function membersJson(members: Members): JsonValue {
  if (members.how === 'closed') return 'closed';
  if (members.how === 'record') return [shapeJson(members.value)];
  return Object.fromEntries(
    [...members.byName].map(([name, { shape, always }]) => [name, [always, shapeJson(shape)]]),
  ) as JsonValue;
}

/** Merges two kept shapes of one tool, such as those of two processes. An unreadable one counts as absent. */
export function mergeKeptShapes(left: unknown, right: unknown): JsonValue {
  return keptShape(mergeShapes(readKeptShape(left) ?? NOTHING, readKeptShape(right) ?? NOTHING));
}

/** Reads a kept shape, which anything may have written; undefined if it is not one. */
function readKeptShape(kept: unknown): Shape | undefined {
  try {
    return kept === undefined || kept === null ? undefined : withinBounds(readShapeJson(kept, 0), MAX_PLACES);
  } catch {
    return undefined;
  }
}

function readShapeJson(json: unknown, depth: number): Shape {
  const [kinds, element, members] = json as readonly unknown[];
  if (typeof kinds !== 'number' || depth > MAX_DEPTH) throw new TypeError('The kept shape is not a shape.');
  return makeShape(
    kinds,
    element === null ? undefined : readShapeJson(element, depth + 1),
    members === null ? undefined : readMembersJson(members, depth),
  );
}

function readMembersJson(json: unknown, depth: number): Members {
  if (Array.isArray(json)) return { how: 'record', value: readShapeJson(json[0], depth + 1) };
  if (!isRecord(json)) return CLOSED;
  const names = Object.keys(json);
  const byName = new Map(
    names.map((name): [string, Member] => {
      const [always, shape] = json[name] as readonly unknown[];
      return [name, { always: always === true, shape: readShapeJson(shape, depth + 1) }];
    }),
  );
  const members: Members = { how: 'named', byName };
  return names.every(isMemberName) ? members : { how: 'record', value: commonShape(members) };
}

/** Merges two shapes. Returns `left` itself if `right` adds nothing. */
export function mergeShapes(left: Shape, right: Shape): Shape {
  const joined = joinShapes(left, right);
  return joined === left ? left : withinBounds(joined, MAX_PLACES);
}

function joinShapes(left: Shape, right: Shape): Shape {
  if (right === left || right.kinds === 0) return left;
  if (left.kinds === 0) return right;
  const kinds = left.kinds | right.kinds;
  const element = joinOptional(left.element, right.element, joinShapes);
  const members = joinOptional(left.members, right.members, joinMembers);
  if (kinds === left.kinds && element === left.element && members === left.members) return left;
  return makeShape(kinds, element, members);
}

function makeShape(kinds: number, element: Shape | undefined, members: Members | undefined): Shape {
  return { kinds, element, members };
}

function joinOptional<Part>(
  left: Part | undefined,
  right: Part | undefined,
  join: (left: Part, right: Part) => Part,
): Part | undefined {
  if (left === undefined) return right;
  return right === undefined ? left : join(left, right);
}

function joinMembers(left: Members, right: Members): Members {
  if (left.how === 'closed' || right.how === 'closed') return left.how === 'closed' ? left : right;
  if (left.how === 'named' && right.how === 'named') return joinNamed(left, right.byName);
  const value = joinShapes(commonShape(left), commonShape(right));
  return left.how === 'record' && value === left.value ? left : { how: 'record', value };
}

function joinNamed(left: Members & { how: 'named' }, right: ReadonlyMap<string, Member>): Members {
  let changed = false;
  const byName = new Map<string, Member>();
  for (const [name, member] of left.byName) {
    const other = right.get(name);
    const shape = other === undefined ? member.shape : joinShapes(member.shape, other.shape);
    const always = member.always && other?.always === true;
    const same = shape === member.shape && always === member.always;
    byName.set(name, same ? member : { shape, always });
    changed ||= !same;
  }
  for (const [name, { shape }] of right) {
    if (left.byName.has(name)) continue;
    byName.set(name, { shape, always: false });
    changed = true;
  }
  return changed ? { how: 'named', byName } : left;
}

/** Returns the common shape of the members, regardless of their names. */
function commonShape(members: Exclude<Members, { how: 'closed' }>): Shape {
  if (members.how === 'record') return members.value;
  return [...members.byName.values()].reduce((all, { shape }) => joinShapes(all, shape), NOTHING);
}

/**
 * Drops the detail of a shape with more than `places` parts. Each member's share is its object's share divided by the
 * number of names, and a record counts as one name more than the maximum. So detail that is dropped from a shape is
 * also dropped after the shape is merged with others.
 */
function withinBounds(shape: Shape, places: number): Shape {
  const share = shape.element !== undefined && shape.members !== undefined ? places / 2 : places;
  const element = shape.element && withinBounds(shape.element, share);
  const members = shape.members && membersWithinBounds(shape.members, share);
  return element === shape.element && members === shape.members ? shape : makeShape(shape.kinds, element, members);
}

function membersWithinBounds(members: Members, places: number): Members {
  if (members.how === 'closed') return members;
  const names = members.how === 'record' ? MAX_NAMES + 1 : members.byName.size;
  if (names > places) return CLOSED;
  if (members.how === 'record' || names > MAX_NAMES) {
    const inner = commonShape(members);
    const value = withinBounds(inner, places / (MAX_NAMES + 1));
    return members.how === 'record' && value === inner
      ? members
      : membersWithinBounds({ how: 'record', value }, places);
  }
  let changed = false;
  const byName = new Map<string, Member>();
  for (const [name, member] of members.byName) {
    const shape = withinBounds(member.shape, places / names);
    changed ||= shape !== member.shape;
    byName.set(name, shape === member.shape ? member : { ...member, shape });
  }
  return changed ? { how: 'named', byName } : members;
}

/** Returns the shape as a TypeScript type on one line of at most 4 000 characters; deep parts are shortened. */
export function typeOfShape(shape: Shape, maxDepth = MAX_DEPTH): string {
  for (let depth = Math.min(maxDepth, MAX_DEPTH); depth > 0; depth--) {
    const type = writeShape(shape, depth);
    if (type.length <= MAX_TYPE_LENGTH) return type;
  }
  return writeShape(shape, 0);
}

function writeShape(shape: Shape, depth: number): string {
  const types: string[] = [];
  const { kinds, element, members } = shape;
  if ((kinds & KINDS.object) !== 0)
    types.push(depth > 0 && members !== undefined ? writeMembers(members, depth) : 'object');
  if ((kinds & KINDS.array) !== 0)
    types.push(`${depth > 0 && element !== undefined ? parenthesisedType(writeShape(element, depth - 1)) : 'any'}[]`);
  for (const kind of ['string', 'number', 'boolean', 'null', 'undefined'] as const)
    if ((kinds & KINDS[kind]) !== 0) types.push(kind);
  return types.length === 0 ? 'any' : joinUnion(types);
}

/** From this number of optional members with the same shape, an object is shown as a record. */
const MIN_RECORD = 8;

function writeMembers(members: Members, depth: number): string {
  if (members.how === 'closed') return 'object';
  if (members.how === 'record') return `Record<string, ${writeShape(members.value, depth - 1)}>`;
  if (members.byName.size === 0) return '{}';
  const sorted = [...members.byName].toSorted(([left], [right]) => (left < right ? -1 : 1));
  const types = sorted.map(([, { shape }]) => writeShape(shape, depth - 1));
  const isRecord =
    sorted.length >= MIN_RECORD && sorted.every(([, { always }]) => !always) && new Set(types).size === 1;
  if (isRecord) return `Record<string, ${types[0]}>`;
  return `{ ${sorted.map(([name, { always }], index) => `${propertyName(name)}${always ? '' : '?'}: ${types[index]}`).join('; ')} }`;
}
