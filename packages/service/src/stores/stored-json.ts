import { jsonTextProblem, MESSAGE_LIMITS } from '@toolscript/core/internal';
import { StoreUnavailableError } from '@toolscript/core/ports';

/** The value of a stored record. Throws for a record that Toolscript cannot have written, before it is parsed. */
export function storedJson(text: string): unknown {
  const problem = jsonTextProblem(text, MESSAGE_LIMITS);
  // defence: stored-records-are-measured-before-parsing
  if (problem !== undefined)
    throw new StoreUnavailableError(
      `A record of the store ${problem}, so another program has written it. Restore a backup.`,
    );
  return JSON.parse(text) as unknown;
}
