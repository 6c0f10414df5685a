import type { z } from 'zod';
import type { ValidationIssue } from '../protocol/tools.js';
import type { ValuePath } from '../text/value-path.js';
import {
  valueKind,
  mismatch,
  plainIssue,
  showChoices,
  showValue,
  unionIssues,
  unknownKey,
  type LocatedIssue,
} from './validation-issues.js';

type ZodIssue = z.core.$ZodIssue;

interface Explaining {
  /** Returns the keys that the value at a path may have. */
  readonly knownKeys: (path: ValuePath) => string[];
  /**
   * The explained unions. A union that occurs in several branches is explained once, because each branch refers to the
   * same lists of issues.
   */
  readonly unions: Map<unknown, readonly LocatedIssue[]>;
}

/** Maximum number of explained issues of one value and its parts. */
const MAX_ISSUES = 50;

/** Converts zod's issues to Toolscript's messages. `knownKeys` returns the keys that the value at a path may have. */
export function explainZodIssues(issues: readonly ZodIssue[], knownKeys: Explaining['knownKeys']): ValidationIssue[] {
  return explainAll(issues, [], { knownKeys, unions: new Map() }).map((located) => located.issue);
}

function explainAll(issues: readonly ZodIssue[], base: ValuePath, explaining: Explaining): LocatedIssue[] {
  return issues
    .slice(0, MAX_ISSUES)
    .flatMap((issue) => explainOne(issue, [...base, ...toPath(issue.path)], explaining))
    .slice(0, MAX_ISSUES);
}

function explainOne(issue: ZodIssue, path: ValuePath, explaining: Explaining): LocatedIssue[] {
  const located = (nature: LocatedIssue['nature'], said: ValidationIssue): LocatedIssue[] => [
    { path, nature, issue: said },
  ];
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.slice(0, MAX_ISSUES).map((key, index) => {
        const name = key.replace('\u0000', '');
        return {
          path: [...path, name],
          nature: 'other',
          issue: unknownKey(path, name, explaining.knownKeys(path), index),
        };
      });
    case 'invalid_type':
      return located('kind', mismatch(path, expectedType(issue.expected), valueKind(issue.input)));
    case 'invalid_value':
      return located('choice', mismatch(path, showChoices(issue.values), showValue(issue.input)));
    case 'too_small':
    case 'too_big':
      return located('other', mismatch(path, boundText(issue), size(issue.input)));
    case 'invalid_format':
      return located('other', mismatch(path, expectedFormat(issue), showValue(issue.input)));
    case 'not_multiple_of':
      return located('other', mismatch(path, `a multiple of ${issue.divisor}`, showValue(issue.input)));
    case 'invalid_union':
      return explainUnion(issue, path, explaining);
    case 'invalid_key':
      return located('other', plainIssue(path, 'is not a key that this record takes'));
    case 'invalid_element':
      return explainAll(issue.issues, path, explaining);
    default:
      return located('other', plainIssue(path, issue.message));
  }
}

function explainUnion(issue: z.core.$ZodIssueInvalidUnion, path: ValuePath, explaining: Explaining): LocatedIssue[] {
  const known = explaining.unions.get(issue.errors);
  // defence: unions-explained-once
  if (known !== undefined) return [...known];
  const explained = explainBranches(issue, path, explaining);
  explaining.unions.set(issue.errors, explained);
  return explained;
}

function explainBranches(issue: z.core.$ZodIssueInvalidUnion, path: ValuePath, explaining: Explaining): LocatedIssue[] {
  if (issue.errors.length === 0) return [{ path, nature: 'choice', issue: plainIssue(path, unionMessage(issue)) }];
  const branches = issue.errors.map((errors) => explainAll(errors, path, explaining));
  return [...unionIssues(branches, path, issue.input)];
}

function unionMessage(issue: z.core.$ZodIssueInvalidUnion): string {
  const discriminator = (issue as { discriminator?: unknown }).discriminator;
  if (typeof discriminator !== 'string') return 'matches none, or more than one, of the alternatives';
  return `no alternative has this value of "${discriminator}"`;
}

function expectedType(expected: string): string {
  if (expected === 'int') return 'integer';
  if (expected === 'tuple') return 'array';
  return expected === 'record' ? 'object' : expected;
}

function expectedFormat(issue: z.core.$ZodIssueInvalidStringFormat): string {
  const detail = issue as unknown as {
    prefix?: string | undefined;
    suffix?: string | undefined;
    includes?: string | undefined;
  };
  if (detail.prefix !== undefined) return `a string that starts with ${JSON.stringify(detail.prefix)}`;
  if (detail.suffix !== undefined) return `a string that ends with ${JSON.stringify(detail.suffix)}`;
  if (detail.includes !== undefined) return `a string that contains ${JSON.stringify(detail.includes)}`;
  return issue.format === 'regex' ? `a string that matches ${issue.pattern}` : `a string of the format ${issue.format}`;
}

function boundText(issue: z.core.$ZodIssueTooSmall | z.core.$ZodIssueTooBig): string {
  const { origin, inclusive = true, exact = false } = issue;
  const [limit, word] =
    issue.code === 'too_small'
      ? [issue.minimum, inclusive ? 'at least' : 'greater than']
      : [issue.maximum, inclusive ? 'at most' : 'less than'];
  const amount = `${exact ? 'exactly' : word} ${limit}`;
  if (origin === 'string') return `${amount} characters`;
  if (origin === 'array' || origin === 'tuple') return `${amount} items`;
  return origin === 'object' || origin === 'record' ? `${amount} keys` : `a number ${amount}`;
}

function size(input: unknown): string {
  if (typeof input === 'string') return `${input.length}`;
  return typeof input === 'object' && input !== null ? `${Object.keys(input).length}` : showValue(input);
}

function toPath(path: readonly PropertyKey[]): (string | number)[] {
  return path.map((part) => (typeof part === 'number' ? part : String(part).replace('\u0000', '')));
}
