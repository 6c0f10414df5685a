import type { Harness, KeptScriptDetails } from '@toolscript/core';
import { ownCommand } from '../terminal/own-command.js';
import { UsageError } from '../usage-error.js';

/** All of a kept script that can be read. Throws a UsageError where there is none. */
export async function inspectKept(harness: Pick<Harness, 'inspect'>, scriptId: string): Promise<KeptScriptDetails> {
  const details = await harness.inspect(scriptId);
  if (details === undefined) throw new UsageError(`There is no kept script ${scriptId} any more.`);
  return details;
}

/** The same, of a script that is to go on. Throws a UsageError where what is kept of it does not open. */
export async function inspectWhole(harness: Pick<Harness, 'inspect'>, scriptId: string): Promise<KeptScriptDetails> {
  const details = await inspectKept(harness, scriptId);
  const { problem, state } = details;
  if (problem !== undefined && (state === 'suspended' || state === 'damaged'))
    throw new UsageError(`${scriptId} cannot be opened: ${problem}. ${forgetHint(scriptId)}`);
  return details;
}

export function forgetHint(scriptId: string): string {
  return `To forget it: ${ownCommand()} approvals delete ${scriptId}`;
}
