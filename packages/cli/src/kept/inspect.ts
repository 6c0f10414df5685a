import type { Harness, KeptScriptDetails } from '@toolscript/core';
import { ownCommand } from '../terminal/own-command.js';
import { UsageError } from '../usage-error.js';

/** All of a kept script. Throws a UsageError where what is kept does not open. */
export async function inspectKept(harness: Pick<Harness, 'inspect'>, scriptId: string): Promise<KeptScriptDetails> {
  let details: KeptScriptDetails | undefined;
  try {
    details = await harness.inspect(scriptId);
  } catch (error) {
    throw new UsageError(
      `${scriptId} cannot be opened: ${whyNot(error)}. To forget it: ${ownCommand()} approvals delete ${scriptId}`,
    );
  }
  if (details === undefined) throw new UsageError(`There is no kept script ${scriptId} any more.`);
  return details;
}

/** Errors of a seal are known by name; everything else that reading can throw comes of damaged text. */
function whyNot(error: unknown): string {
  if (error instanceof UsageError) throw error;
  return error instanceof Error && error.name === 'SealError' ? error.message : 'what is kept of it is damaged';
}
