import { listScripts } from '@toolscript/core';
import type { Settings } from '../configuration/settings.js';
import { inspectStoredScript } from '../state/inspect.js';
import type { Screen } from '../terminal/screen.js';
import { showSuspendedScript } from '../view/suspension-report.js';
import { UsageError } from '../usage-error.js';
import type { OpenChat } from './open-chat.js';

/** The scripts of a conversation that wait for the user, oldest first. */
export async function waitingScripts({ thread, workbench }: OpenChat): Promise<string[]> {
  const { kept, harness } = workbench;
  const found: string[] = [];
  for (const { scriptId, state } of await listScripts(kept.store)) {
    if (state !== 'suspended' || (await kept.origins.of(scriptId))?.thread !== thread.id) continue;
    const { suspension } = await inspectStoredScript(harness, scriptId);
    if (suspension !== undefined) found.push(scriptId);
  }
  return found;
}

/** Throws a UsageError unless the mode is `enabled`: no other mode resumes scripts. */
export function demandEnabledMode({ mode }: Pick<Settings, 'mode'>): void {
  if (mode !== 'enabled')
    throw new UsageError(
      `The mode is ${mode}, so no script is resumed. Set TOOLSCRIPT_MODE=enabled for this command, or "mode" in your config.json.`,
    );
}

/**
 * Shows the commands that decide the pending approvals, and the approvals themselves unless the user knows them.
 * Returns false if no script waits.
 */
export async function reportPending(
  { thread, workbench, isQuiet, options }: OpenChat,
  screen: Screen,
): Promise<boolean> {
  const { waitingScript } = thread;
  if (waitingScript === undefined) return false;
  const isKnown = isQuiet || workbench.approvals.hasAsked;
  showSuspendedScript({
    scriptId: waitingScript,
    details: isKnown ? undefined : await workbench.harness.inspect(waitingScript),
    options,
    style: screen.style,
    write: isQuiet ? (line) => screen.warn(line) : (line) => screen.line(line),
  });
  return true;
}
