import { tmpdir } from 'node:os';
import { listScripts, pruneScripts, type KeptScript, type KeptScriptDetails } from '@toolscript/core';
import { loadSettings, plainSettings } from '../configuration/settings.js';
import { EXIT } from '../exit-status.js';
import { openEngines } from '../harness/engines.js';
import { openHarness } from '../harness/open-harness.js';
import {
  ChangesFolder,
  openState,
  originFolder,
  type Origin,
  type PersistentState,
} from '../state/persistent-state.js';
import { findScript } from '../state/find-script.js';
import { deleteHint, inspectStoredScript, scriptOwner } from '../state/inspect.js';
import { openScreen, type Screen } from '../terminal/screen.js';
import { jsonText, visibleLine } from '../terminal/untrusted.js';
import { UsageError } from '../usage-error.js';
import { detailLines, listLines, type ListedApproval } from '../view/kept-scripts-report.js';

export interface ApprovalsFlags {
  json?: boolean | undefined;
}

export interface ListFlags extends ApprovalsFlags {
  all?: boolean | undefined;
}

export interface PruneFlags extends ApprovalsFlags {
  endedDays?: string | undefined;
  waitingDays?: string | undefined;
}

interface ListedScript extends Omit<KeptScript, 'approvals'> {
  workspace: string | null;
  approvals: readonly ListedApproval[];
}

/** Lists the suspended, interrupted and damaged scripts, or with `all` every stored script, newest change first. */
export async function listApprovals({ json = false, all = false }: ListFlags): Promise<number> {
  const [screen, kept] = [openScreen(), openState(process.env)];
  const scripts = (await listScripts(kept.store)).filter(
    ({ state }) => all || state === 'suspended' || state === 'interrupted' || state === 'damaged',
  );
  const withInputs = await readInputs(kept, scripts);
  const listed = await Promise.all(
    scripts.toReversed().map((script) => withWorkspace(kept, { ...script, approvals: withInputs(script) })),
  );
  if (json) screen.write(`${jsonText(listed, 2)}\n`);
  else for (const line of listLines(listed, Date.now(), screen)) screen.line(line);
  for (const { scriptId, state } of scripts)
    if (state === 'damaged') screen.notice(`The stored data of ${scriptId} is damaged. ${deleteHint(scriptId)}`);
  return EXIT.completed;
}

/** Returns a function that adds the arguments of the calls, if they can be read, to a script's pending approvals. */
async function readInputs(
  kept: PersistentState,
  scripts: readonly KeptScript[],
): Promise<(script: KeptScript) => ListedApproval[]> {
  const inputs = new Map<string, unknown>();
  const waiting = scripts.filter(({ state }) => state === 'suspended');
  for (const [scriptId, details] of await inspectAll(kept, waiting))
    for (const { approvalId, input } of details.pendingApprovals) inputs.set(`${scriptId} ${approvalId}`, input);
  return ({ scriptId, approvals }) =>
    approvals.map((approval) => {
      const input = inputs.get(`${scriptId} ${approval.approvalId}`);
      return { ...approval, ...(input === undefined ? {} : { input }) };
    });
}

/** Omits the scripts whose details cannot be read. The command `approvals show` reports the reason. */
async function inspectAll(
  kept: PersistentState,
  scripts: readonly KeptScript[],
): Promise<Map<string, KeptScriptDetails>> {
  const found = new Map<string, KeptScriptDetails>();
  if (scripts.length === 0) return found;
  const { harness } = await openHarness(plainSettings(tmpdir()), { kept, engines: openEngines(), coding: false });
  try {
    for (const script of scripts) {
      const details = await inspectStoredScript(harness, script.scriptId, scriptOwner(script)).catch(() => undefined);
      if (details !== undefined) found.set(script.scriptId, details);
    }
    return found;
  } finally {
    await harness.close();
  }
}

async function withWorkspace(
  { origins }: PersistentState,
  script: Omit<ListedScript, 'workspace'>,
): Promise<ListedScript> {
  return { ...script, workspace: (await origins.of(script.scriptId))?.workspace ?? null };
}

/** Shows the details that a user may need to decide about a script. */
export async function showApprovals(id: string, { json = false }: ApprovalsFlags): Promise<number> {
  const [screen, kept] = [openScreen(), openState(process.env)];
  const script = await findScript(kept, id);
  const origin = await kept.origins.of(script.scriptId);
  const details = await inspect(kept, script, origin, screen);
  const { suspension: _suspension, ...shown } = details;
  if (json) screen.write(`${jsonText({ ...shown, workspace: origin?.workspace ?? null }, 2)}\n`);
  else for (const line of detailLines(details, origin, Date.now(), screen.style)) screen.line(line);
  return EXIT.completed;
}

async function inspect(
  kept: PersistentState,
  script: KeptScript,
  origin: Origin | undefined,
  screen: Screen,
): Promise<KeptScriptDetails> {
  const settings = await loadSettings(await originFolder(origin), process.env, screen.notice);
  const { harness } = await openHarness(settings, { kept, engines: openEngines() });
  try {
    return await inspectStoredScript(harness, script.scriptId, scriptOwner(script));
  } finally {
    await harness.close();
  }
}

/** Deletes one script in any state except running. Does not run any of its code. */
export async function deleteApproval(id: string, { json = false }: ApprovalsFlags): Promise<number> {
  const [screen, kept] = [openScreen(), openState(process.env)];
  const { scriptId, state } = await findScript(kept, id);
  if (state === 'running') throw new UsageError(`${scriptId} is running in another process. End that process first.`);
  await kept.store.journal.delete(scriptId);
  screen.line(json ? jsonText({ deleted: [scriptId] }) : `Deleted: ${scriptId}`);
  return EXIT.completed;
}

/** Deletes old scripts, and stored file changes whose script no longer exists. */
export async function pruneApprovals({ json = false, endedDays, waitingDays }: PruneFlags): Promise<number> {
  const [screen, kept] = [openScreen(), openState(process.env)];
  const gone = await pruneScripts(kept.store, {
    ...(endedDays === undefined ? {} : { endedAfterMs: daysMs('--ended-days', endedDays) }),
    ...(waitingDays === undefined ? {} : { waitingAfterMs: daysMs('--waiting-days', waitingDays) }),
  });
  await new ChangesFolder(kept.folder.changesFolder).deleteOrphans(kept.store);
  if (json) screen.write(`${jsonText(gone)}\n`);
  else
    screen.line(
      gone.scripts.length === 0 ? 'No script is old enough to be deleted.' : `Deleted: ${gone.scripts.join(', ')}`,
    );
  return EXIT.completed;
}

function daysMs(option: string, text: string): number {
  if (!/^\d+(?:\.\d+)?$/u.test(text))
    throw new UsageError(`${option} cannot be ${visibleLine(text)}. Write a number of days, such as ${option} 30`);
  return Number(text) * 86_400_000;
}
