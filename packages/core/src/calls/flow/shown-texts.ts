import type { Outcome } from '../../protocol/outcome.js';
import { argumentLeaves } from './call-leaves.js';
import { isQuoted, isVerbatim } from './verbatim.js';

/**
 * Whether the model reads more in the report of a script than texts that it wrote in the script itself. Such a report
 * may contain what the script's calls returned.
 */
export function showsMore(
  source: string,
  { value, output, logs }: Pick<Outcome, 'value' | 'output' | 'logs'>,
): boolean {
  const isOwn = (text: string): boolean => text === '' || isQuoted(source, text);
  if (!isOwn(output.trim()) || !logs.every(({ text }) => isOwn(text.trim()))) return true;
  const { leaves, isComplete } = argumentLeaves((value ?? null) as never);
  if (!isComplete || !leaves.every((leaf) => isQuoted(source, leaf.value))) return true;
  const names = memberNames(value);
  return names.size > MAX_NAMES || ![...names].every((name) => isVerbatim(source, name));
}

/** Maximum number of names of members that are compared. */
const MAX_NAMES = 500;

function memberNames(value: unknown, names = new Set<string>()): Set<string> {
  if (typeof value !== 'object' || value === null || names.size > MAX_NAMES) return names;
  if (!Array.isArray(value)) for (const name of Object.keys(value)) names.add(name);
  for (const member of Object.values(value)) memberNames(member, names);
  return names;
}
