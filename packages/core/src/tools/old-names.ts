import { ToolscriptUsageError } from '../protocol/errors.js';
import { isRecord, type JsonObject } from '../protocol/json.js';
import type { ValidationIssue } from '../protocol/tools.js';
import { knownKeysAt } from './schema-reference.js';
import { plainIssue } from './validation-issues.js';

/** Former argument names, each mapped to its current name. */
export type OldNames = Readonly<Record<string, string>>;

/** `tool`: its name in messages. Throws a `ToolscriptUsageError` for invalid former names of these arguments. */
export function readOldNames(oldNames: unknown, tool: string, inputSchema: JsonObject): OldNames | undefined {
  if (oldNames === undefined) return undefined;
  if (!isRecord(oldNames) || Object.values(oldNames).some((name) => typeof name !== 'string'))
    throw new ToolscriptUsageError(`"oldNames" of ${tool} must be an object of names.`);
  const names = knownKeysAt(inputSchema, []);
  for (const [old, name] of Object.entries(oldNames as OldNames)) {
    if (names.includes(old))
      throw new ToolscriptUsageError(
        `"oldNames" of ${tool} has "${old}", which is the name of an argument today; remove it there or rename the argument.`,
      );
    if (!names.includes(name))
      throw new ToolscriptUsageError(
        `"oldNames" of ${tool} gives "${old}" the name "${name}", which no argument has; the arguments are ${names.join(', ')}.`,
      );
  }
  return Object.freeze({ ...(oldNames as OldNames) });
}

/** Renames arguments to their current names. `issues`: arguments that are given under two names. */
export interface RenamedArguments {
  readonly value: unknown;
  readonly issues: readonly ValidationIssue[];
}

export function withNewNames(value: unknown, oldNames: OldNames | undefined): RenamedArguments {
  if (oldNames === undefined || !isRecord(value)) return { value, issues: [] };
  const issues: ValidationIssue[] = [];
  const given = new Set(Object.keys(value));
  const members = Object.entries(value).map(([key, member]): [string, unknown] => {
    const name = Object.hasOwn(oldNames, key) ? oldNames[key]! : key;
    if (name === key) return [key, member];
    if (given.has(name))
      issues.push(plainIssue([key], `an old name of ${name}, which is given too; give ${name} alone`));
    given.add(name);
    return [name, member];
  });
  return { value: Object.fromEntries(members), issues };
}
