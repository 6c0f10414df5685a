import type { Harness, KeptScript, KeptScriptDetails } from '@toolscript/core';
import { ownCommand } from '../terminal/own-command.js';
import { UsageError } from '../usage-error.js';

/** The owner of a script. `principal` is omitted for the user of this machine. */
type ScriptOwner = { readonly principal?: string | undefined };

/** All readable details of a stored script. Throws a UsageError if the script does not exist. */
export async function inspectStoredScript(
  harness: Pick<Harness, 'inspect'>,
  scriptId: string,
  owner: ScriptOwner = {},
): Promise<KeptScriptDetails> {
  const details = await harness.inspect(scriptId, owner);
  if (details === undefined)
    throw new UsageError(
      `The script ${scriptId} was deleted meanwhile. To list the pending scripts: ${ownCommand()} approvals`,
    );
  return details;
}

/** The details of a script that will be resumed. Throws a UsageError if its data cannot be opened. */
export async function inspectWhole(
  harness: Pick<Harness, 'inspect'>,
  scriptId: string,
  owner: ScriptOwner = {},
): Promise<KeptScriptDetails> {
  const details = await inspectStoredScript(harness, scriptId, owner);
  const { problem, state } = details;
  if (problem !== undefined && (state === 'suspended' || state === 'damaged'))
    throw new UsageError(`${scriptId} cannot be opened: ${problem}. ${deleteHint(scriptId)}`);
  return details;
}

/**
 * The owner of a script, which may be the principal of a server's API key: the user of this machine sees and decides
 * the scripts of all keys.
 */
export function scriptOwner({ principal }: Pick<KeptScript, 'principal'>): ScriptOwner {
  return principal === undefined ? {} : { principal };
}

export function deleteHint(scriptId: string): string {
  return `To delete it: ${ownCommand()} approvals delete ${scriptId}`;
}
