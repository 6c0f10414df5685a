import type { OutputUnit } from '@cfworker/json-schema';
import { isRecord, type JsonValue } from '../protocol/json.js';
import type { ValidationIssue } from '../protocol/tools.js';
import {
  kindOf,
  likeliestBranch,
  mismatch,
  plainIssue,
  showChoices,
  showValue,
  unknownKey,
  type BranchIssues,
  type LocatedIssue,
} from './validation-issues.js';

/**
 * Converts the validator's errors to issues. The validator reports a flat list in which the failures inside a failed
 * keyword follow the keyword. The function reads the list as the tree that the list represents. It reports only the
 * leaves, and only one branch of a union.
 */
export function explainSchemaErrors(
  errors: readonly OutputUnit[],
  schema: unknown,
  instance: JsonValue,
): ValidationIssue[] {
  const explanation = new Explanation(schema, instance);
  const seen = new Set<string>();
  return explanation
    .explain(errors.slice(0, MAX_ERRORS_READ))
    .map((located) => located.issue)
    .filter((issue) => {
      const line = `${issue.path}: ${issue.message}`;
      if (seen.has(line)) return false;
      seen.add(line);
      return true;
    });
}

const MAX_ERRORS_READ = 200;
/** Maximum number of issues in a report, because a reader needs only a few. */
const MAX_ISSUES = 50;

/** Keywords that fail only because of an inner failure, which is reported instead. */
const CONTAINERS = new Set([
  '$ref',
  'allOf',
  'if',
  'properties',
  'patternProperties',
  'prefixItems',
  'items',
  'dependentSchemas',
]);
/** Keywords whose inner failures are meaningless to a reader. */
const OPAQUE = new Set(['not', 'contains', 'minContains', 'maxContains', 'propertyNames']);

const HOLDERS = new Set([...OPAQUE, 'anyOf', 'oneOf', 'additionalProperties', 'unevaluatedProperties']);

class Explanation {
  readonly #schema: unknown;
  readonly #instance: JsonValue;

  constructor(schema: unknown, instance: JsonValue) {
    this.#schema = schema;
    this.#instance = instance;
  }

  explain(errors: readonly OutputUnit[]): LocatedIssue[] {
    const issues: LocatedIssue[] = [];
    for (let index = 0; index < errors.length && issues.length < MAX_ISSUES; index++) {
      const unit = errors[index] as OutputUnit;
      if (CONTAINERS.has(unit.keyword)) continue;
      const inner = HOLDERS.has(unit.keyword) ? innerErrors(errors, index) : [];
      if (unit.keyword === 'anyOf' || unit.keyword === 'oneOf') {
        issues.push(...this.#explainUnion(unit, inner));
        index += inner.length;
      } else if (OPAQUE.has(unit.keyword)) {
        issues.push(...this.#explainLeaf(unit));
        index += inner.length;
      } else if (unit.keyword === 'additionalProperties' || unit.keyword === 'unevaluatedProperties') {
        index += this.#explainUnknownKey(unit, inner, issues);
      } else {
        issues.push(...this.#explainLeaf(unit));
      }
    }
    return issues;
  }

  #explainUnion(unit: OutputUnit, inner: readonly OutputUnit[]): LocatedIssue[] {
    const path = this.#path(unit);
    if (inner.length === 0) return [other(path, plainIssue(path, 'fits more than one of the alternatives'))];
    const branches = groupBranches(unit, inner).map((branch) => this.explain(branch));
    if (unit.keyword === 'oneOf' && branches.length < this.#keywordValue(unit).length) {
      return [other(path, plainIssue(path, 'fits more than one of the alternatives'))];
    }
    const meant = likeliestBranch(branches, path.length);
    if (meant !== undefined) return [...meant];
    return [
      {
        path,
        nature: 'kind',
        issue: mismatch(path, expectations(branches, path.length), showValue(this.#value(path))),
      },
    ];
  }

  /** Reports an unknown key. Returns the number of inner errors that the method handled. */
  #explainUnknownKey(unit: OutputUnit, inner: readonly OutputUnit[], issues: LocatedIssue[]): number {
    const first = inner[0];
    if (first === undefined || first.keyword !== 'false') return 0;
    const path = this.#path(unit);
    const key = String(this.#path(first).at(-1));
    const properties = this.#siblings(unit, 'properties');
    const known = isRecord(properties) ? Object.keys(properties) : [];
    // The validator repeats the failure of a declared member here.
    if (!known.includes(key)) issues.push(other([...path, key], unknownKey(path, key, known, issues.length)));
    return 1;
  }

  #explainLeaf(unit: OutputUnit): LocatedIssue[] {
    const path = this.#path(unit);
    const value = this.#value(path);
    const limit = this.#keywordValue(unit);
    const said = (expected: string, received = showValue(value)) => [other(path, mismatch(path, expected, received))];
    switch (unit.keyword) {
      case 'type':
        return [{ path, nature: 'kind', issue: mismatch(path, [limit].flat().join(' | '), kindOf(value)) }];
      case 'const':
        return [{ path, nature: 'choice', issue: mismatch(path, showValue(limit), showValue(value)) }];
      case 'enum':
        return [{ path, nature: 'choice', issue: mismatch(path, showChoices(limit), showValue(value)) }];
      case 'required':
        return this.#explainMissing(unit, path);
      case 'false':
        return [other(path, plainIssue(path, 'no value is allowed here'))];
      case 'pattern':
        return said(`a string that matches ${JSON.stringify(limit)}`);
      case 'format':
        return said(`a string of the format ${limit}`);
      case 'multipleOf':
        return said(`a multiple of ${limit}`);
      case 'not':
        return [other(path, plainIssue(path, 'is a value that is not allowed'))];
      case 'uniqueItems':
        return [other(path, plainIssue(path, 'has an item twice'))];
      case 'propertyNames':
        return [other(path, plainIssue(path, 'has a key that is not allowed'))];
      default:
        return [other(path, explainBound(unit.keyword, path, limit, value))];
    }
  }

  #explainMissing(unit: OutputUnit, path: readonly (string | number)[]): LocatedIssue[] {
    const names = this.#keywordValue(unit);
    const value = this.#value(path);
    const missing = Array.isArray(names) && isRecord(value) ? names.filter((name) => !Object.hasOwn(value, name)) : [];
    const properties = this.#siblings(unit, 'properties');
    return missing.map((name: string) => {
      const member = isRecord(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined;
      const expected = expectedOf(member);
      return { path: [...path, name], nature: 'other', issue: mismatch([...path, name], expected, 'undefined') };
    });
  }

  #path(unit: OutputUnit): (string | number)[] {
    const path: (string | number)[] = [];
    let value: unknown = this.#instance;
    for (const part of pointerParts(unit.instanceLocation)) {
      path.push(Array.isArray(value) ? Number(part) : part);
      value = isRecord(value) || Array.isArray(value) ? (value as Record<string, unknown>)[part] : undefined;
    }
    return path;
  }

  #value(path: readonly (string | number)[]): unknown {
    return path.reduce<unknown>(
      (value, part) =>
        typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[part] : undefined,
      this.#instance,
    );
  }

  // The value of a keyword can have any shape, which the keyword determines.
  // oxlint-disable-next-line typescript/no-explicit-any
  #keywordValue(unit: OutputUnit): any {
    return this.#schemaAt(pointerParts(unit.keywordLocation));
  }

  #siblings(unit: OutputUnit, keyword: string): unknown {
    const parts = pointerParts(unit.keywordLocation);
    const schema = this.#schemaAt(parts.slice(0, -1));
    return isRecord(schema) ? schema[keyword] : undefined;
  }

  #schemaAt(parts: readonly string[]): unknown {
    let node: unknown = this.#schema;
    for (const part of parts) {
      if (typeof node !== 'object' || node === null) return undefined;
      const next = (node as Record<string, unknown>)[part];
      node = part === '$ref' && typeof next === 'string' ? this.#schemaAt(pointerParts(next)) : next;
    }
    return node;
  }
}

function explainBound(
  keyword: string,
  path: readonly (string | number)[],
  limit: unknown,
  value: unknown,
): ValidationIssue {
  const [kind, unit] = BOUNDS[keyword] ?? [undefined, ''];
  if (kind === undefined) return plainIssue(path, `does not fit the schema (${keyword})`);
  const received =
    typeof value === 'string' || Array.isArray(value)
      ? String(value.length)
      : isRecord(value)
        ? String(Object.keys(value).length)
        : showValue(value);
  return mismatch(
    path,
    unit === '' ? `a number ${kind} ${String(limit)}` : `${kind} ${String(limit)} ${unit}`,
    received,
  );
}

const BOUNDS: Readonly<Record<string, readonly [string, string]>> = {
  minimum: ['at least', ''],
  maximum: ['at most', ''],
  exclusiveMinimum: ['greater than', ''],
  exclusiveMaximum: ['less than', ''],
  minLength: ['at least', 'characters'],
  maxLength: ['at most', 'characters'],
  minItems: ['at least', 'items'],
  maxItems: ['at most', 'items'],
  minProperties: ['at least', 'keys'],
  maxProperties: ['at most', 'keys'],
};

/** Returns the errors after `index` that are inside the keyword of the error at `index`. */
function innerErrors(errors: readonly OutputUnit[], index: number): OutputUnit[] {
  const location = (errors[index] as OutputUnit).keywordLocation;
  const inner: OutputUnit[] = [];
  for (let next = index + 1; next < errors.length; next++) {
    const unit = errors[next] as OutputUnit;
    // Errors of `false` schemas have no location of their own; they always follow their parent.
    const inside = unit.keyword === 'false' || unit.keywordLocation.startsWith(`${location}/`);
    if (!inside) break;
    inner.push(unit);
  }
  return inner;
}

function groupBranches(unit: OutputUnit, inner: readonly OutputUnit[]): OutputUnit[][] {
  const branches = new Map<string, OutputUnit[]>();
  let current = '';
  for (const error of inner) {
    if (error.keyword !== 'false')
      current = error.keywordLocation.slice(unit.keywordLocation.length + 1).split('/')[0] ?? '';
    const branch = branches.get(current);
    if (branch === undefined) branches.set(current, [error]);
    else branch.push(error);
  }
  return [...branches.values()];
}

function expectations(branches: readonly BranchIssues[], depth: number): string {
  const expected = branches
    .flatMap((branch) => branch.slice(0, 1))
    .map((issue) => {
      const text = issue.issue.expected ?? 'another value';
      return issue.path.length > depth ? `{ ${String(issue.path.at(-1))}: ${text} }` : text;
    });
  return [...new Set(expected)].join(' | ');
}

function expectedOf(schema: unknown): string {
  if (!isRecord(schema)) return 'a value';
  if (Array.isArray(schema['enum'])) return showChoices(schema['enum']);
  if ('const' in schema) return showValue(schema['const']);
  return schema['type'] === undefined ? 'a value' : [schema['type']].flat().join(' | ');
}

function other(path: readonly (string | number)[], issue: ValidationIssue): LocatedIssue {
  return { path, nature: 'other', issue };
}

function pointerParts(location: string): string[] {
  if (location === '#' || location === '') return [];
  return location
    .replace(/^#\//, '')
    .split('/')
    .map((part) => decode(part).replaceAll('~1', '/').replaceAll('~0', '~'));
}

function decode(part: string): string {
  try {
    return decodeURI(part);
  } catch {
    return part;
  }
}
