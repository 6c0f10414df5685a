import { listScripts, pruneScripts, type KeptScript, type KeptScriptDetails } from '@toolscript/core';
import { loadSettings } from '../configuration/settings.js';
import { EXIT } from '../exit-status.js';
import { openEngines } from '../harness/engines.js';
import { openHarness } from '../harness/open-harness.js';
import { findScript } from '../state/find-script.js';
import { forgetHint, inspectKept } from '../state/inspect.js';
import { openState, type PersistentState } from '../state/persistent-state.js';
import { placeOf, type Origin } from '../state/origin-folder.js';
import { Screen } from '../terminal/screen.js';
import { jsonText, visibleLine } from '../terminal/untrusted.js';
import { UsageError } from '../usage-error.js';
import { detailLines, listLines } from '../view/kept-scripts-report.js';

export interface ApprovalsFlags {
  json?: boolean;
}

export interface ListFlags extends ApprovalsFlags {
  all?: boolean;
}

export interface PruneFlags extends ApprovalsFlags {
  endedDays?: string;
  waitingDays?: string;
}

interface ListedScript extends KeptScript {
  workspace: string | null;
}

/** What waits for a decision, and what was cut off; `all`: whatever is kept. */
export async function listApprovals({ json = false, all = false }: ListFlags): Promise<number> {
  const [screen, kept] = [openScreen(), openState(process.env)];
  const scripts = (await listScripts(kept.store)).filter(
    ({ state }) => all || state === 'suspended' || state === 'interrupted' || state === 'damaged',
  );
  const listed = await Promise.all(scripts.map((script) => withWorkspace(kept, script)));
  if (json) screen.write(`${jsonText(listed, 2)}\n`);
  else for (const line of listLines(listed, Date.now(), screen)) screen.line(line);
  for (const { scriptId, state } of scripts)
    if (state === 'damaged') screen.warn(`toolscript: What is kept of ${scriptId} is damaged. ${forgetHint(scriptId)}`);
  return EXIT.completed;
}

async function withWorkspace({ origins }: PersistentState, script: KeptScript): Promise<ListedScript> {
  return { ...script, workspace: (await origins.of(script.scriptId))?.workspace ?? null };
}

/** All that a person may want to see before deciding. */
export async function showApprovals(id: string, { json = false }: ApprovalsFlags): Promise<number> {
  const [screen, kept] = [openScreen(), openState(process.env)];
  const { scriptId } = await findScript(kept, id);
  const origin = await kept.origins.of(scriptId);
  const details = await inspect(kept, scriptId, origin, screen);
  const { suspension: _suspension, ...shown } = details;
  if (json) screen.write(`${jsonText({ ...shown, workspace: origin?.workspace ?? null }, 2)}\n`);
  else for (const line of detailLines(details, origin, Date.now(), screen.style)) screen.line(line);
  return EXIT.completed;
}

async function inspect(
  kept: PersistentState,
  scriptId: string,
  origin: Origin | undefined,
  screen: Screen,
): Promise<KeptScriptDetails> {
  const settings = await loadSettings(await placeOf(origin), process.env, (message) =>
    screen.warn(`toolscript: ${message}`),
  );
  const { harness } = await openHarness(settings, { kept, engines: openEngines() });
  try {
    return await inspectKept(harness, scriptId);
  } finally {
    await harness.close();
  }
}

/** Forgets one script, whatever became of it. Nothing of it is run. */
export async function deleteApproval(id: string, { json = false }: ApprovalsFlags): Promise<number> {
  const [screen, kept] = [openScreen(), openState(process.env)];
  const { scriptId, state } = await findScript(kept, id);
  if (state === 'running') throw new UsageError(`${scriptId} is running, in another process. Stop that one first.`);
  await kept.store.journal.delete(scriptId);
  screen.line(json ? jsonText({ deleted: [scriptId] }) : `Forgotten: ${scriptId}`);
  return EXIT.completed;
}

/** Forgets what is old. */
export async function pruneApprovals({ json = false, endedDays, waitingDays }: PruneFlags): Promise<number> {
  const [screen, kept] = [openScreen(), openState(process.env)];
  const gone = await pruneScripts(kept.store, {
    ...(endedDays === undefined ? {} : { endedAfterMs: daysMs('--ended-days', endedDays) }),
    ...(waitingDays === undefined ? {} : { waitingAfterMs: daysMs('--waiting-days', waitingDays) }),
  });
  if (json) screen.write(`${jsonText(gone)}\n`);
  else
    screen.line(
      gone.scripts.length === 0 ? 'Nothing is old enough to be forgotten.' : `Forgotten: ${gone.scripts.join(', ')}`,
    );
  return EXIT.completed;
}

function daysMs(option: string, text: string): number {
  if (!/^\d+(?:\.\d+)?$/u.test(text)) throw new UsageError(`${option} ${visibleLine(text)}: give a number of days.`);
  return Number(text) * 86_400_000;
}

function openScreen(): Screen {
  return new Screen(process.stdout, process.stderr, process.env);
}
