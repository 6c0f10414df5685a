import type { ValidationIssue } from '../protocol/tools.js';
import { nearestNames } from '../text/nearest-names.js';
import { UNKNOWN_KEY } from '../text/unknown-key.js';
import { formatPath, type ValuePath } from '../text/value-path.js';

/** Maximum reported issues of one call, because a model needs only a few to repair the call. */
const MAX_ISSUES = 5;

const MAX_KEY_LENGTH = 60;
const MAX_SHOWN_LENGTH = 60;

/** Returns an issue with the message `expected string, received number`. */
export function mismatch(path: ValuePath, expected: string, received: string): ValidationIssue {
  return { path: formatPath(path), message: `expected ${expected}, received ${received}`, expected, received };
}

export function plainIssue(path: ValuePath, message: string): ValidationIssue {
  return { path: formatPath(path), message };
}

/** Maximum comparisons of unknown keys with known keys, for the hints of one call. */
const MAX_COMPARED = 4_000;

/**
 * Returns the issue about an unknown key. `index`: the index of the issue in its list. Only issues that are shown get a
 * hint, because searching for a hint takes time.
 */
export function unknownKey(path: ValuePath, key: string, knownKeys: readonly string[], index: number): ValidationIssue {
  // defence: advice-for-shown-issues
  if (index >= MAX_ISSUES || index * knownKeys.length >= MAX_COMPARED) return plainIssue([...path, key], UNKNOWN_KEY);
  const nearest = nearestNames(key, knownKeys, 1)[0];
  const advice = nearest === undefined ? listKeys(knownKeys) : `did you mean ${nearest}?`;
  return plainIssue([...path, key], advice === '' ? UNKNOWN_KEY : `${UNKNOWN_KEY}; ${advice}`);
}

/** Writes one line for each of the first `MAX_ISSUES` issues, and one line about the rest. */
export function issueLines(issues: readonly ValidationIssue[]): string {
  const lines = issues.slice(0, MAX_ISSUES).map((issue) => `${issue.path}: ${issue.message}`);
  const rest = issues.length - lines.length;
  if (rest > 0) lines.push(`and ${rest} more`);
  return lines.join('\n');
}

/** Returns the kind of a value, as a script's writer names it: `string`, `array`, `null` … */
export function valueKind(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

/**
 * Returns the JSON text of a string, number or other simple value; a long text is truncated and follows the kind of the
 * value. Returns only the kind of an object or array.
 */
export function showValue(value: unknown): string {
  if (typeof value === 'object' && value !== null) return valueKind(value);
  const start = typeof value === 'string' ? value.slice(0, MAX_SHOWN_LENGTH + 1) : value;
  const text = JSON.stringify(start) ?? String(start);
  return text.length <= MAX_SHOWN_LENGTH ? text : `${valueKind(value)} ${text.slice(0, 40)}…`;
}

/** Returns a text such as `"a" | "b" | 3`, truncated after twelve values. */
export function showChoices(values: readonly unknown[]): string {
  const shown = values.slice(0, 12).map((value) => (typeof value === 'bigint' ? `${value}n` : showValue(value)));
  return values.length > shown.length
    ? `${shown.join(' | ')} | … ${values.length - shown.length} more`
    : shown.join(' | ');
}

/** Returns the issues of a value that fits no branch of a union. */
export function unionIssues(branches: readonly BranchIssues[], path: ValuePath, value: unknown): BranchIssues {
  const meant = likeliestBranch(branches, path.length);
  if (meant !== undefined) return meant;
  const expected = new Set(branches.flatMap((branch) => branch.slice(0, 1).map((first) => branchText(first, path))));
  return [{ path, nature: 'kind', issue: mismatch(path, [...expected].join(' | '), showValue(value)) }];
}

/** Returns a text such as `string`, or `{ kind: "a" }` for a branch that failed at its discriminating member. */
function branchText({ path, issue }: LocatedIssue, union: ValuePath): string {
  const expected = issue.expected ?? 'another value';
  if (path.length <= union.length) return expected;
  return `{ ${formatPath(path.slice(union.length), '').replace(/^\./, '')}: ${expected} }`;
}

/**
 * Returns the branch of a union that was most likely intended: a branch without a wrong discriminating value at its own
 * level, then the one that fails deepest, then the one with the fewest issues. Undefined if no branch stands out.
 */
function likeliestBranch(branches: readonly BranchIssues[], depth: number): BranchIssues | undefined {
  const fitting = branches.filter((branch) => branch.every((issue) => !rulesOut(issue, depth)));
  if (fitting.length === 0) return undefined;
  if (fitting.length === 1) return fitting[0];
  const ranked = fitting.toSorted((left, right) => deepest(right) - deepest(left) || left.length - right.length);
  return ranked[0];
}

/** `kind`: the value has a wrong kind. `choice`: the value is not one of the listed values. */
export type IssueNature = 'kind' | 'choice' | 'other';

export interface LocatedIssue {
  readonly path: ValuePath;
  readonly nature: IssueNature;
  readonly issue: ValidationIssue;
}

type BranchIssues = readonly LocatedIssue[];

function rulesOut(issue: LocatedIssue, depth: number): boolean {
  if (issue.nature === 'kind') return issue.path.length <= depth;
  return issue.nature === 'choice' && issue.path.length <= depth + 1;
}

function deepest(branch: BranchIssues): number {
  return branch.reduce((depth, issue) => Math.max(depth, issue.path.length), 0);
}

function listKeys(keys: readonly string[]): string {
  if (keys.length === 0) return 'no keys are allowed';
  const shown = keys.slice(0, 10).map((key) => key.slice(0, MAX_KEY_LENGTH));
  return `the keys are ${shown.join(', ')}${keys.length > shown.length ? ', …' : ''}`;
}
