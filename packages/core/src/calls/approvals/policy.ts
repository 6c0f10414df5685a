import type { ApprovalCallback, ApprovalPolicy, ApprovalRule } from '../../protocol/approvals.js';
import { ToolscriptUsageError } from '../../protocol/errors.js';
import type { JsonValue } from '../../protocol/json.js';
import type { Tool } from '../../protocol/tools.js';
import { matchesPattern } from './pattern.js';

/** A policy in normal form: the rules, then the action for a call that no rule matches. */
export interface ReadPolicy {
  readonly rules: readonly ApprovalRule[];
  /** The action if no rule matches. */
  readonly otherwise: 'approve' | 'deny' | 'ask';
  /** The reason for a denial by `otherwise`, or for a denial because no user can be asked. */
  readonly denial: string;
  readonly ask: ApprovalCallback | undefined;
}

/** Throws a `ToolscriptUsageError` unless the value is a policy. `undefined`: the host configured no approvals. */
export function readPolicy(policy: ApprovalPolicy | undefined): ReadPolicy {
  if (policy === undefined)
    return {
      rules: [],
      otherwise: 'ask',
      denial: 'no approvals are configured here; the host can set "approvals"',
      ask: undefined,
    };
  if (policy === 'auto') return { rules: [], otherwise: 'approve', denial: '', ask: undefined };
  if (policy === 'deny')
    return { rules: [], otherwise: 'deny', denial: 'calls that need an approval are refused here', ask: undefined };
  if (typeof policy === 'function') return { rules: [], otherwise: 'ask', denial: '', ask: policy };
  if (Array.isArray(policy)) return readRules(policy, undefined);
  if (typeof policy !== 'object' || policy === null || !('rules' in policy)) {
    throw new ToolscriptUsageError('OPTION_INVALID', {
      option: '"approvals"',
      expected: '"auto", "deny", a function, a list of rules or { rules, ask }',
    });
  }
  for (const key of Object.keys(policy)) {
    if (key !== 'rules' && key !== 'ask')
      throw new ToolscriptUsageError('UNKNOWN_MEMBER', {
        where: '"approvals"',
        member: key,
        advice: ' It takes rules and ask.',
      });
  }
  if (policy.ask !== undefined && typeof policy.ask !== 'function')
    throw new ToolscriptUsageError('OPTION_INVALID', { option: '"approvals.ask"', expected: 'a function' });
  return readRules(policy.rules, policy.ask);
}

const RULE_KEYS = ['tool', 'effect', 'input', 'permission', 'from', 'action'];
const ACTIONS: readonly unknown[] = ['approve', 'deny', 'ask'];
const EFFECTS: readonly unknown[] = [undefined, 'read', 'write', 'external'];

function readRules(rules: readonly ApprovalRule[], ask: ApprovalCallback | undefined): ReadPolicy {
  if (!Array.isArray(rules))
    throw new ToolscriptUsageError('OPTION_INVALID', { option: '"approvals.rules"', expected: 'a list of rules' });
  for (const [index, rule] of rules.entries()) assertRule(rule, `Approval rule ${index + 1}`);
  return { rules: structuredClone(rules) as ApprovalRule[], otherwise: 'deny', denial: 'no rule allows it', ask };
}

function assertRule(rule: unknown, where: string): void {
  if (typeof rule !== 'object' || rule === null || Array.isArray(rule))
    throw new ToolscriptUsageError('OPTION_INVALID', { option: where, expected: 'an object' });
  for (const key of Object.keys(rule)) {
    if (!RULE_KEYS.includes(key)) {
      throw new ToolscriptUsageError('UNKNOWN_MEMBER', {
        where,
        member: key,
        advice: ` It takes ${RULE_KEYS.join(', ')}.`,
      });
    }
  }
  const { tool, effect, input, permission, from, action } = rule as Record<string, unknown>;
  if (!ACTIONS.includes(action)) throw new ToolscriptUsageError('APPROVAL_RULE_WITHOUT_ACTION', { rule: where });
  if (!EFFECTS.includes(effect))
    throw new ToolscriptUsageError('OPTION_INVALID', {
      option: `The effect of ${where.toLowerCase()}`,
      expected: '"read", "write" or "external"',
    });
  for (const [key, value] of Object.entries({ tool, permission })) {
    if (value !== undefined && typeof value !== 'string')
      throw new ToolscriptUsageError('OPTION_INVALID', {
        option: `"${key}" of ${where.toLowerCase()}`,
        expected: 'a string',
      });
  }
  if (from !== undefined && (from !== 'untrusted' || action === 'approve'))
    throw new ToolscriptUsageError('OPTION_INVALID', {
      option: `"from" of ${where.toLowerCase()}`,
      expected: '"untrusted", in a rule that denies or asks',
    });
  if (input !== undefined && (typeof input !== 'object' || input === null || Array.isArray(input))) {
    throw new ToolscriptUsageError('OPTION_INVALID', {
      option: `"input" of ${where.toLowerCase()}`,
      expected: 'an object of paths and values',
    });
  }
}

/**
 * The view of a call that rules match. `permissions`: the permissions that the tool reports for the call; undefined if
 * the tool cannot report them, or if no rule names a permission.
 */
export interface RuledCall {
  readonly tool: Tool;
  readonly input: JsonValue;
  readonly permissions: readonly string[] | undefined;
  /** Whether untrusted text may have chosen a guarded argument. Undefined: the sources are not known. */
  readonly isDoubtful?: (() => boolean) | undefined;
}

/**
 * Returns the first rule that matches a call of the tool, for hosts that have their own rules.
 *
 * @example
 *
 * ```ts
 * const rules: ApprovalRule[] = [{ tool: 'mcp.github.*', effect: 'read', action: 'approve' }];
 * const rule = findApprovalRule(rules, getWeather, { city: 'Oslo' });
 * console.log(rule?.action ?? 'ask');
 * ```
 */
export function findApprovalRule(
  rules: readonly ApprovalRule[],
  tool: Tool,
  input: JsonValue,
): ApprovalRule | undefined {
  return matchRule(rules, { tool, input, permissions: callPermissions(tool, input) });
}

/** The permissions that the tool reports for the call: none without a `permissions` function, undefined if it fails. */
export function callPermissions(tool: Tool, input: JsonValue): readonly string[] | undefined {
  if (tool.permissions === undefined) return [];
  try {
    const permissions: unknown = tool.permissions(input as never);
    return Array.isArray(permissions) && permissions.every((one) => typeof one === 'string') ? permissions : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the first rule that matches; undefined if no rule matches. */
export function matchRule(rules: readonly ApprovalRule[], call: RuledCall): ApprovalRule | undefined {
  return rules.find((rule) => ruleMatches(rule, call));
}

/**
 * Whether a rule denies calls by tool, permission or arguments. Such a rule also applies to calls that need no
 * decision; all other rules do not.
 */
export function isNamedProhibition(rule: ApprovalRule): boolean {
  return (
    rule.action === 'deny' &&
    (rule.tool !== undefined || rule.permission !== undefined || rule.input !== undefined || rule.from !== undefined)
  );
}

function ruleMatches(rule: ApprovalRule, call: RuledCall): boolean {
  if (rule.tool !== undefined && !matchesPattern(rule.tool, call.tool.name)) return false;
  if (rule.effect !== undefined && rule.effect !== call.tool.effect) return false;
  if (rule.permission !== undefined && !permissionsMatch(rule, rule.permission, call.permissions)) return false;
  // defence: rules-about-sources
  if (rule.from !== undefined && call.isDoubtful?.() !== true) return false;
  // defence: rules-look-into-lists
  const looksIntoLists = rule.action !== 'approve';
  return Object.entries(rule.input ?? {}).every(([path, expected]) =>
    valuesAt(call.input, pathWithoutAlias(path, call.tool), looksIntoLists).some((value) =>
      valueMatches(expected, value, looksIntoLists),
    ),
  );
}

/** Returns the path with the name of the argument, because a rule may use an alias. */
function pathWithoutAlias(path: string, { aliases }: Tool): string[] {
  const [first = '', ...rest] = path.split('.');
  // defence: rules-know-aliases
  return [aliases !== undefined && Object.hasOwn(aliases, first) ? aliases[first]! : first, ...rest];
}

/**
 * A rule that approves matches only if its pattern matches every permission of the call, and the call has at least one.
 * A rule that denies or asks matches if its pattern matches one permission, or if the tool cannot report permissions.
 */
function permissionsMatch(rule: ApprovalRule, pattern: string, permissions: readonly string[] | undefined): boolean {
  // defence: prohibitions-hold-where-a-tool-cannot-say
  if (rule.action !== 'approve')
    return permissions === undefined || permissions.some((permission) => matchesPattern(pattern, permission));
  // defence: approvals-cover-all-that-is-touched
  return (
    permissions !== undefined &&
    permissions.length > 0 &&
    permissions.every((permission) => matchesPattern(pattern, permission))
  );
}

/**
 * Returns the values at a path. With `looksIntoLists`, the result includes the values at this path in the entries of
 * lists.
 */
function valuesAt(value: unknown, path: readonly string[], looksIntoLists: boolean): unknown[] {
  const [key, ...rest] = path;
  if (key === undefined) return [value];
  if (typeof value !== 'object' || value === null) return [];
  const own = Object.hasOwn(value, key) ? valuesAt((value as Record<string, unknown>)[key], rest, looksIntoLists) : [];
  if (!looksIntoLists || !Array.isArray(value)) return own;
  return [...own, ...value.flatMap((entry: unknown) => valuesAt(entry, path, looksIntoLists))];
}

function valueMatches(expected: unknown, actual: unknown, looksIntoLists: boolean): boolean {
  if (looksIntoLists && Array.isArray(actual) && !Array.isArray(expected))
    return actual.some((entry: unknown) => valueMatches(expected, entry, looksIntoLists));
  if (typeof expected === 'string') return typeof actual === 'string' && matchesPattern(expected, actual);
  if (typeof expected !== 'object' || expected === null) return expected === actual;
  if (typeof actual !== 'object' || actual === null || Array.isArray(expected) !== Array.isArray(actual)) return false;
  const keys = Object.keys(expected);
  const sameSize = keys.length === Object.keys(actual).length;
  return (
    sameSize &&
    keys.every(
      (key) =>
        Object.hasOwn(actual, key) &&
        valueMatches(
          (expected as Record<string, unknown>)[key],
          (actual as Record<string, unknown>)[key],
          looksIntoLists,
        ),
    )
  );
}
