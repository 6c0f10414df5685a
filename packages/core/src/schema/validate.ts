import { z } from 'zod';
import { isRecord, type JsonValue } from '../protocol/json.js';
import type { ValidationIssue } from '../protocol/tools.js';
import type { ValuePath } from '../text/value-path.js';
import { BOUNDS, innerSchema, MAX_PATTERN_KEY_LENGTH, type Schema, type SchemaNode } from './tree.js';
import { valueKind, mismatch, plainIssue, showChoices, showValue, unknownKey } from './validation-issues.js';
import type { IssueNature } from './validation-issues.js';

/** A value that does not fit a schema. Only a failure that is reported gets a text. */
export interface Failure {
  readonly spot: Spot;
  readonly nature: IssueNature;
  /** `index`: the number of issues before this one. */
  readonly issue: (path: ValuePath, index: number) => ValidationIssue;
  /** The failures of each branch of a union that the value does not fit. */
  readonly branches?: readonly (readonly Failure[])[] | undefined;
}

/** A value inside of the validated value, and what is known about it. */
export interface Spot {
  readonly value: JsonValue;
  readonly outer?: Spot | undefined;
  readonly key?: string | number | undefined;
  readonly failures: Failure[];
  /** The members that schemas of the value have described; undefined if no schema asks for the others. */
  readonly described?: Set<string | number> | undefined;
}

export class BudgetExceeded extends Error {}

/**
 * Returns what is wrong with a value: everything (`all`), or what is found first. Throws a `BudgetExceeded` if the work
 * costs more than the budget. A use of a schema costs 1; long lists, unions, patterns and `uniqueItems` cost more.
 */
export function validate(root: SchemaNode, value: JsonValue, budget: number, all: boolean): readonly Failure[] {
  const failures: Failure[] = [];
  new Validation(budget, all).check(root, { value, failures });
  return failures;
}

/** The number of choices or names whose search takes as long as the use of a schema. */
const CHOICES_AT_ONCE = 20;
const PROPERTIES_AT_ONCE = 100;
const PATTERN_COST = 20;
/** The maximum length of a list that is searched for duplicates. */
const MAX_UNIQUE_ITEMS = 500;
const FEW_UNIQUE_ITEMS = 20;
/** The cost of `uniqueItems` for a short list, then for a longer list: each item is compared with every other item. */
const COST_OF_FEW_UNIQUE_ITEMS = 20;
const COST_OF_UNIQUE_ITEMS = 12_000;
/** Longer texts have none of the checked formats. */
const MAX_FORMAT_LENGTH = 1_000;

class Validation {
  readonly all: boolean;
  #budget: number;

  constructor(budget: number, all: boolean) {
    this.#budget = budget;
    this.all = all;
  }

  spend(cost: number): void {
    this.#budget -= cost;
    // defence: schema-work-has-a-budget
    if (this.#budget < 0) throw new BudgetExceeded();
  }

  /** Whether the value fits. Otherwise, adds failures to those of the spot. */
  check(schema: SchemaNode, spot: Spot): boolean {
    const { failures } = spot;
    if (schema === false) return fail(spot, (path) => plainIssue(path, 'no value is allowed here'));
    this.spend(useCost(schema));
    const asksForOthers = schema.unevaluatedProperties !== undefined || schema.unevaluatedItems !== undefined;
    const here = asksForOthers && spot.described === undefined ? { ...spot, described: new Set<never>() } : spot;
    const before = failures.length;
    for (const test of TESTS) {
      test(this, schema, here);
      if (failures.length > before && !this.all) return false;
    }
    return failures.length === before;
  }

  /** Checks the same value against a part of its schema. The failures of a branch have a list of their own. */
  checkPart(part: SchemaNode, spot: Spot, failures = spot.failures): boolean {
    const described = spot.described && new Set<string | number>();
    const fits = this.check(part, { ...spot, failures, described });
    if (fits) for (const key of described ?? []) spot.described?.add(key);
    return fits;
  }

  /** Checks a member or item. Returns whether the validation continues. */
  checkInner(schema: SchemaNode, outer: Spot, key: string | number): boolean {
    outer.described?.add(key);
    const value = (outer.value as Record<string | number, JsonValue>)[key] as JsonValue;
    return this.check(schema, { value, outer, key, failures: outer.failures }) || this.all;
  }
}

/** Returns the cost of one use of a schema, without the schemas inside of it. */
function useCost({ choices, required, properties, anyOf, oneOf }: Schema): number {
  const searches = ((choices?.length ?? 0) + required.length) / CHOICES_AT_ONCE;
  const branches = (anyOf?.length ?? 0) + (oneOf?.length ?? 0);
  return 1 + Math.floor(searches + (properties?.size ?? 0) / PROPERTIES_AT_ONCE) + 2 * branches;
}

function fail(spot: Spot, issue: Failure['issue'], nature: IssueNature = 'other'): false {
  spot.failures.push({ spot, nature, issue });
  return false;
}

function failExpected(spot: Spot, expected: string, received?: string): void {
  fail(spot, (path) => mismatch(path, expected, received ?? showValue(spot.value)));
}

/** Tests some keywords of a schema. Adds a failure for each of them that the value does not fit. */
type KeywordTest = (validation: Validation, schema: Schema, spot: Spot) => void;

/** In the order in which failures are reported. */
const TESTS: readonly KeywordTest[] = [
  testReference,
  testTypes,
  testValues,
  testNot,
  testAnyOf,
  testAllOf,
  testPattern,
  testUniqueItems,
  testOneOf,
  testCondition,
  testRequired,
  testBounds,
  testFormat,
  testPropertyNames,
  testDependents,
  testMembers,
  testItems,
  testContains,
];

function testReference(validation: Validation, { reference }: Schema, spot: Spot): void {
  if (reference?.target !== undefined) validation.checkPart(reference.target, spot);
}

function testTypes(_: Validation, { types, nullable }: Schema, spot: Spot): void {
  const { value } = spot;
  if (types === undefined || (nullable && value === null) || types.some((type) => isOfType(value, type))) return;
  fail(spot, (path) => mismatch(path, typeNames(types, nullable), valueKind(value)), 'kind');
}

function typeNames(types: readonly string[], nullable: boolean): string {
  return [...new Set(nullable ? [...types, 'null'] : types)].join(' | ');
}

function isOfType(value: JsonValue, type: string): boolean {
  return type === 'integer' ? Number.isInteger(value) : valueKind(value) === type;
}

function testValues(_: Validation, { constant, choices, nullable }: Schema, spot: Spot): void {
  const { value } = spot;
  if (constant !== undefined && !areEqual(constant.value, value))
    fail(spot, (path) => mismatch(path, showValue(constant.value), showValue(value)), 'choice');
  if (choices === undefined || (nullable && value === null) || choices.some((choice) => areEqual(choice, value)))
    return;
  fail(spot, (path) => mismatch(path, choiceNames(choices, nullable), showValue(value)), 'choice');
}

function choiceNames(choices: readonly JsonValue[], nullable: boolean): string {
  return showChoices(nullable && !choices.includes(null) ? [...choices, null] : choices);
}

function areEqual(one: JsonValue, other: JsonValue): boolean {
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return one === other;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const members = Object.entries(one) as [string, JsonValue][];
  const others = other as Record<string, JsonValue>;
  return (
    members.length === Object.keys(others).length &&
    members.every(([key, member]) => Object.hasOwn(others, key) && areEqual(member, others[key] as JsonValue))
  );
}

function testNot(validation: Validation, { not }: Schema, spot: Spot): void {
  if (not !== undefined && validation.check(not, { value: spot.value, failures: [] }))
    fail(spot, (path) => plainIssue(path, 'is a value that is not allowed'));
}

function testAllOf(validation: Validation, { allOf = [] }: Schema, spot: Spot): void {
  for (const part of allOf) if (!validation.checkPart(part, spot) && !validation.all) return;
}

function testAnyOf(validation: Validation, { anyOf }: Schema, spot: Spot): void {
  if (anyOf === undefined) return;
  const branches: Failure[][] = [];
  for (const part of anyOf) {
    const failures: Failure[] = [];
    branches.push(failures);
    // All branches that fit describe members.
    if (validation.checkPart(part, spot, failures) && spot.described === undefined) return;
  }
  if (branches.every(({ length }) => length > 0)) failUnion(spot, branches);
}

function testOneOf(validation: Validation, { oneOf }: Schema, spot: Spot): void {
  if (oneOf === undefined) return;
  const branches: Failure[][] = oneOf.map(() => []);
  const fitting = oneOf.filter((part, index) => validation.checkPart(part, spot, branches[index])).length;
  if (fitting === 0) failUnion(spot, branches);
  if (fitting > 1) fail(spot, (path) => plainIssue(path, 'fits more than one of the alternatives'));
}

function failUnion(spot: Spot, branches: readonly (readonly Failure[])[]): void {
  const issue = (path: ValuePath) => plainIssue(path, 'fits none of the alternatives');
  spot.failures.push({ spot, nature: 'kind', issue, branches });
}

function testCondition(validation: Validation, schema: Schema, spot: Spot): void {
  if (schema.if === undefined) return;
  const part = validation.checkPart(schema.if, spot, []) ? schema.then : schema.else;
  if (part !== undefined) validation.checkPart(part, spot);
}

function testPattern(validation: Validation, { pattern }: Schema, spot: Spot): void {
  const { value } = spot;
  if (pattern === undefined || typeof value !== 'string' || value.length > pattern.maxLength) return;
  validation.spend(PATTERN_COST);
  if (!pattern.expression.test(value)) failExpected(spot, `a string that matches ${JSON.stringify(pattern.source)}`);
}

function testUniqueItems(validation: Validation, { uniqueItems }: Schema, spot: Spot): void {
  const { value } = spot;
  if (!uniqueItems || !Array.isArray(value) || value.length > MAX_UNIQUE_ITEMS) return;
  validation.spend(value.length > FEW_UNIQUE_ITEMS ? COST_OF_UNIQUE_ITEMS : COST_OF_FEW_UNIQUE_ITEMS);
  const items = value as readonly JsonValue[];
  if (items.some((item, index) => items.slice(0, index).some((other) => areEqual(item, other))))
    fail(spot, (path) => plainIssue(path, 'has an item twice'));
}

function testBounds(_: Validation, { bounds, multipleOf }: Schema, spot: Spot): void {
  const { value } = spot;
  for (const { keyword, limit } of bounds ?? []) {
    const [kind, side, unit] = BOUNDS[keyword];
    if (kind !== valueKind(value) || isWithin(valueSize(value), side, limit)) continue;
    const received = typeof value === 'string' ? value.length : valueSize(value);
    failExpected(spot, unit === '' ? `a number ${side} ${limit}` : `${side} ${limit} ${unit}`, String(received));
  }
  if (multipleOf !== undefined && typeof value === 'number' && !isMultiple(value, multipleOf))
    failExpected(spot, `a multiple of ${multipleOf}`);
}

/** Returns a number itself, the characters of a text, and the items or keys of a list or object. */
function valueSize(value: JsonValue): number {
  if (typeof value === 'number') return value;
  if (typeof value === 'string') return value.length - (value.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0);
  return Object.keys(value as object).length;
}

function isWithin(size: number, side: string, limit: number): boolean {
  if (side === 'at least') return size >= limit;
  if (side === 'at most') return size <= limit;
  return side === 'greater than' ? size > limit : size < limit;
}

/** The rest of a division by a fraction is seldom exactly 0. */
const MAX_REST = 1e-7;

function isMultiple(value: number, factor: number): boolean {
  const rest = Math.abs(value % factor);
  return rest < MAX_REST || factor - rest < MAX_REST;
}

const TIME = /^(?:(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d|23:59:60)(?:\.\d+)?(z|[+-]\d\d(?::?\d\d)?)?$/i;

/** The formats that are checked. All others only inform. */
const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  date: (text) => z.regexes.date.test(text),
  time: (text) => TIME.test(text),
  'date-time': (text) =>
    z.regexes.date.test(text.slice(0, 10)) &&
    /^[t\s]$/i.test(text.charAt(10)) &&
    TIME.exec(text.slice(11))?.[1] !== undefined,
  duration: (text) => z.regexes.extendedDuration.test(text),
  email: (text) => z.regexes.html5Email.test(text),
  ipv4: (text) => z.regexes.ipv4.test(text),
  uuid: (text) => z.regexes.guid.test(text),
};

function testFormat(_: Validation, { format }: Schema, spot: Spot): void {
  const { value } = spot;
  if (format === undefined || typeof value !== 'string' || !Object.hasOwn(FORMATS, format)) return;
  if (value.length > MAX_FORMAT_LENGTH || !FORMATS[format]!(value))
    failExpected(spot, `a string of the format ${format}`);
}

function testRequired(_: Validation, { required, properties }: Schema, spot: Spot): void {
  if (!isRecord(spot.value)) return;
  for (const key of required) {
    if (Object.hasOwn(spot.value, key)) continue;
    const missing = { ...spot, outer: spot, key };
    fail(missing, (path) => mismatch(path, expectedText(properties?.get(key)), 'undefined'));
  }
}

function expectedText(schema: SchemaNode | undefined): string {
  if (!schema) return 'a value';
  const { choices, constant, types, nullable } = schema;
  if (choices !== undefined) return choiceNames(choices, nullable);
  if (constant !== undefined) return showValue(constant.value);
  return types === undefined ? 'a value' : typeNames(types, nullable);
}

function testPropertyNames(validation: Validation, { propertyNames, patternProperties }: Schema, spot: Spot): void {
  if (!isRecord(spot.value) || (propertyNames ?? patternProperties) === undefined) return;
  const isAllowed = (key: string): boolean =>
    (patternProperties === undefined || key.length <= MAX_PATTERN_KEY_LENGTH) &&
    (propertyNames === undefined || validation.check(propertyNames, { value: key, failures: [] }));
  if (!Object.keys(spot.value).every(isAllowed))
    fail(spot, (path) => plainIssue(path, 'has a key that is not allowed'));
}

function testDependents(validation: Validation, { dependentSchemas }: Schema, spot: Spot): void {
  if (dependentSchemas === undefined || !isRecord(spot.value)) return;
  for (const [key, schema] of dependentSchemas)
    if (Object.hasOwn(spot.value, key) && !validation.checkPart(schema, spot) && !validation.all) return;
}

const NO_PROPERTIES: ReadonlyMap<string, SchemaNode> = new Map();

function testMembers(validation: Validation, schema: Schema, spot: Spot): void {
  const { value } = spot;
  if (!isRecord(value)) return;
  const { properties = NO_PROPERTIES, patternProperties = [], additionalProperties, unevaluatedProperties } = schema;
  for (const [key, member] of properties)
    if (Object.hasOwn(value, key) && !validation.checkInner(member, spot, key)) return;
  if (patternProperties.length === 0 && (additionalProperties ?? unevaluatedProperties) === undefined) return;
  const isTested = patternProperties.every(({ pattern }) => pattern !== undefined);
  for (const key of Object.keys(value)) {
    const matching = patternProperties.filter(
      ({ pattern }) => key.length <= MAX_PATTERN_KEY_LENGTH && pattern?.test(key),
    );
    for (const member of matching) if (!validation.checkInner(member.schema, spot, key)) return;
    if (!isTested || matching.length > 0 || properties.has(key)) continue;
    const others = additionalProperties ?? (spot.described?.has(key) === false ? unevaluatedProperties : undefined);
    if (others === false) failUnknownKey(spot, key, properties);
    if (others === false ? !validation.all : others !== undefined && !validation.checkInner(others, spot, key)) return;
  }
}

function failUnknownKey(outer: Spot, key: string, properties: ReadonlyMap<string, SchemaNode>): void {
  fail({ ...outer, outer, key }, (path, index) => unknownKey(path.slice(0, -1), key, [...properties.keys()], index));
}

function testItems(validation: Validation, schema: Schema, spot: Spot): void {
  const { value } = spot;
  if (!Array.isArray(value)) return;
  const length = schema.items === undefined ? (schema.prefixItems?.length ?? 0) : value.length;
  for (let index = 0; index < length && index < value.length; index++)
    if (!validation.checkInner(innerSchema(schema, index)!, spot, index)) return;
}

function testContains(validation: Validation, schema: Schema, spot: Spot): void {
  const { contains, minContains, maxContains = Infinity, unevaluatedItems } = schema;
  if (!Array.isArray(spot.value)) return;
  const items = spot.value as readonly JsonValue[];
  if (contains !== undefined) {
    const fitting = [...items.keys()].filter((index) =>
      validation.check(contains, { value: items[index]!, failures: [] }),
    );
    for (const index of fitting) spot.described?.add(index);
    const wrong =
      fitting.length < (minContains ?? 1) ? (minContains === undefined ? 'contains' : 'minContains') : 'maxContains';
    if (wrong !== 'maxContains' || fitting.length > maxContains)
      fail(spot, (path) => plainIssue(path, `does not fit the schema (${wrong})`));
  }
  if (unevaluatedItems !== undefined)
    for (const index of items.keys())
      if (!spot.described?.has(index) && !validation.checkInner(unevaluatedItems, spot, index)) return;
}
