import { LimitChangesSchema, LimitsSchema, type Limits } from '@toolscript/core/protocol';
import { didYouMean } from '../nearest-name.js';
import { visibleLine } from '../terminal/untrusted.js';
import { UsageError } from '../usage-error.js';

/** Parses `NAME=VALUE` texts as limits. Throws a UsageError that names the fault and the nearest name. */
export function parseLimits(assignments: readonly string[]): Partial<Limits> {
  return Object.assign({}, ...assignments.map(parseLimit)) as Partial<Limits>;
}

/**
 * The limits of a workspace that are no wider than the current ones, and the names of the others. A smaller number is
 * narrower; false is narrower than true.
 */
export function narrowLimits(
  inForce: Partial<Limits>,
  requested: Partial<Limits>,
): { limits: Partial<Limits>; wider: string[] } {
  const defaults = LimitsSchema.parse({});
  const limits: Record<string, number | boolean> = {};
  const wider: string[] = [];
  for (const [name, value] of Object.entries(requested) as [keyof Limits, number | boolean][]) {
    const inForceValue = Number(inForce[name] ?? defaults[name]);
    // defence: limits-narrow, without it: const isNarrower = !Number.isNaN(inForceValue + Number(value));
    const isNarrower = Number(value) <= inForceValue;
    if (isNarrower) limits[name] = value;
    else wider.push(name);
  }
  return { limits: limits as Partial<Limits>, wider };
}

function parseLimit(assignment: string): Partial<Limits> {
  const shown = visibleLine(assignment);
  const [, name, text] = /^([^=]+)=(.*)$/su.exec(assignment) ?? [];
  if (name === undefined || text === undefined)
    throw new UsageError(`--limit ${shown}: write it as NAME=VALUE, for example --limit timeoutMs=60000.`);
  const names = Object.keys(LimitsSchema.shape);
  if (!names.includes(name)) {
    throw new UsageError(
      `--limit ${shown}: there is no limit ${visibleLine(name)}.${didYouMean(name, names) || ` The limits are ${names.join(', ')}.`}`,
    );
  }
  const result = LimitChangesSchema.safeParse({ [name]: limitValue(text) });
  if (!result.success) throw new UsageError(`--limit ${shown}: ${issueText(result.error.issues[0]?.message)}.`);
  return { [name]: result.data[name as keyof Limits] };
}

function limitValue(text: string): unknown {
  if (text === 'true' || text === 'false') return text === 'true';
  return /^-?\d+(?:\.\d+)?$/u.test(text) ? Number(text) : text;
}

function issueText(message = 'not a valid value'): string {
  const text = message.replace(/^Invalid input: /u, '');
  return text.charAt(0).toLowerCase() + text.slice(1);
}
