import { z } from 'zod';
import { Violation } from './seen-request.js';

/**
 * Shared parts of the three request formats. Objects other than JSON Schemas are strict: an unknown member is a
 * violation.
 */

export const Name = z.string().regex(/^[\w-]{1,64}$/u);
export const CallId = z.string().min(1).max(64);
export const JsonSchemaObject = z.looseObject({ type: z.literal('object') });
export const CacheMark = z.strictObject({ type: z.literal('ephemeral'), ttl: z.enum(['5m', '1h']).optional() });

/** @throws Violation that names the first invalid members. */
export function readAs<Value>(schema: z.ZodType<Value>, value: unknown, what: string): Value {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.slice(0, 3).map((issue) => {
    const { path, message } = deepest(issue);
    return `${[what, ...path].join('.')}: ${message}`;
  });
  throw new Violation(issues.join('; '));
}

/** The deepest issue of a union, which belongs to the branch that fits best. */
function deepest(issue: z.core.$ZodIssue): { path: readonly PropertyKey[]; message: string } {
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return issue;
  const branches = issue.errors.map((branch) => branch.map(deepest));
  const [best] = branches.toSorted((a, b) => depth(b) - depth(a));
  const [first] = best ?? [];
  return first === undefined ? issue : { path: [...issue.path, ...first.path], message: first.message };
}

function depth(branch: readonly { path: readonly PropertyKey[] }[]): number {
  return Math.max(0, ...branch.map(({ path }) => path.length)) - branch.length / 100;
}
