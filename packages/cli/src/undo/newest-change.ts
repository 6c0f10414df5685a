import { readdir } from 'node:fs/promises';
import { listScripts, type KeptScript } from '@toolscript/core';
import { ownCommand } from '../terminal/own-command.js';
import { visibleLine } from '../terminal/untrusted.js';
import type { PersistentState } from '../state/persistent-state.js';
import { UsageError } from '../usage-error.js';

/** The newest script of a workspace, or of one of its conversations, that changed files. Throws a UsageError. */
export async function newestChange(
  { store, origins, folder }: PersistentState,
  workspace: string,
  thread: string | undefined,
): Promise<KeptScript> {
  const changed = new Set(await readdir(folder.changesFolder).catch(() => [] as string[]));
  const scripts = (await listScripts(store)).filter(({ scriptId }) => changed.has(scriptId));
  for (const script of scripts.toReversed()) {
    const origin = await origins.of(script.scriptId);
    if (origin?.workspace === workspace && (thread === undefined || isThread(origin.thread, thread))) return script;
  }
  const where = thread === undefined ? visibleLine(workspace) : `the conversation ${visibleLine(thread)}`;
  throw new UsageError(
    `No stored script changed files in ${where}. To list all stored scripts: ${ownCommand()} approvals --all`,
  );
}

/** A user may write only the start of an id. */
function isThread(id: string | undefined, given: string): boolean {
  return id !== undefined && (id.startsWith(given) || id.startsWith(`thr_${given}`));
}
