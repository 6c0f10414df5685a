import { readdir } from 'node:fs/promises';
import { listScripts, type KeptScript } from '@toolscript/core';
import { localEntry, undoFacts, type ScriptUndo, type UndoDirection, type UndoReport } from '@toolscript/server/access';
import { LOCAL_PRINCIPAL } from '@toolscript/service';
import { loadSettings } from '../configuration/settings.js';
import { realFolder, workspaceFolder } from '../configuration/workspace-folder.js';
import { EXIT } from '../exit-status.js';
import { openEngines } from '../harness/engines.js';
import { findScript } from '../state/find-script.js';
import { scriptOwner } from '../state/inspect.js';
import { openAudit, openState, type PersistentState } from '../state/persistent-state.js';
import { agrees } from '../approvals/agrees.js';
import { ownCommand } from '../terminal/own-command.js';
import { openScreen, type Screen } from '../terminal/screen.js';
import { jsonText, visibleLine } from '../terminal/untrusted.js';
import { openUndo } from '../undo/open-undo.js';
import { UsageError } from '../usage-error.js';
import { undoLines, undoneLines } from '../view/undo-report.js';

export interface UndoFlags {
  cwd?: string | undefined;
  thread?: string | undefined;
  redo?: boolean | undefined;
  dryRun?: boolean | undefined;
  yes?: boolean | undefined;
  json?: boolean | undefined;
}

interface UndoTarget {
  readonly scriptId: string;
  readonly principal: string | undefined;
  readonly direction: UndoDirection;
}

/** Undoes the file changes of a script and the calls whose tools can undo a call, or redoes only the file changes. */
export async function undoScript(id: string | undefined, flags: UndoFlags): Promise<number> {
  if (id !== undefined && (flags.thread !== undefined || flags.cwd !== undefined))
    throw new UsageError(
      '--cwd and --thread choose the newest script, so they cannot be used with a script. Omit them.',
    );
  const [screen, kept] = [openScreen(), openState(process.env)];
  const found = await findTarget(kept, id, flags);
  const settings = await loadSettings({ cwd: found.workspace }, process.env, screen.notice);
  const audit = openAudit(process.env);
  const opened = await openUndo(settings, { kept, audit: audit.append, engines: openEngines() });
  try {
    const report = await run(opened.undo, found.target, flags, screen);
    const { principal = LOCAL_PRINCIPAL } = found.target;
    if (report?.isDone === true) audit.append(localEntry({ type: 'undo' as const, principal, ...undoFacts(report) }));
    return report === undefined || report.refusal !== undefined ? EXIT.failed : EXIT.completed;
  } finally {
    await opened.close();
    audit.close();
  }
}

async function findTarget(
  kept: PersistentState,
  id: string | undefined,
  { cwd, thread, redo = false }: UndoFlags,
): Promise<{ target: UndoTarget; workspace: string }> {
  const here = id === undefined ? await workspaceFolder(cwd) : undefined;
  const script = here === undefined ? await findScript(kept, id!) : await newestChange(kept, here, thread);
  const { scriptId } = script;
  const origin = await kept.origins.of(scriptId);
  if (origin === undefined)
    throw new UsageError(
      `The folder in which ${scriptId} was started is unknown, so the script cannot be undone. Restore the files by hand.`,
    );
  const target = { scriptId, principal: scriptOwner(script).principal, direction: redo ? 'redo' : 'undo' } as const;
  return { target, workspace: await realFolder(origin.workspace) };
}

/** The maximum number of lines of one file's diff before the question. `--dry-run` shows all. */
const MAX_DIFF_LINES = 40;

/** Previews the undo, and performs it if the user agrees. Returns undefined if the user does not agree. */
async function run(
  undo: ScriptUndo,
  target: UndoTarget,
  { dryRun = false, yes = false, json = false }: UndoFlags,
  screen: Screen,
): Promise<UndoReport | undefined> {
  const preview = await undo.preview({ ...target, diff: dryRun || (!yes && !json) });
  if (preview === undefined)
    throw new UsageError(
      `The script ${target.scriptId} was deleted meanwhile. To list the stored scripts: ${ownCommand()} approvals --all`,
    );
  const isEmpty = preview.files.length === 0 && preview.calls.length === 0;
  if (dryRun || isEmpty || preview.refusal !== undefined) return show(preview, json, screen, undoLines);
  if (!json) for (const line of undoLines(preview, screen.style, MAX_DIFF_LINES)) screen.line(line);
  if (!yes && !(await agrees(question(preview), 'Look at the changes with --dry-run, then add --yes.'))) {
    screen.notice('Nothing was changed.');
    return undefined;
  }
  const { planId } = preview;
  const done = await undo.undo({ ...target, ...(planId === undefined ? {} : { planId }) });
  return show(done ?? preview, json, screen, undoneLines);
}

function show(report: UndoReport, json: boolean, screen: Screen, linesOf: typeof undoLines): UndoReport {
  if (json) screen.write(`${jsonText(report, 2)}\n`);
  else for (const line of linesOf(report, screen.style)) screen.line(line);
  if (!json && report.refusal !== undefined) screen.notice(`${visibleLine(report.refusal.message)}${advice(report)}`);
  return report;
}

function question({ direction }: UndoReport): string {
  return direction === 'undo' ? 'Undo this?' : 'Redo this?';
}

function advice({ scriptId, refusal }: UndoReport): string {
  return refusal?.code === 'already_undone' ? ` To redo them: ${ownCommand()} undo ${scriptId} --redo` : '';
}

/**
 * The newest script of a workspace, or of one of its conversations, that changed files. Throws a UsageError if no
 * script has changed files.
 */
async function newestChange(
  { store, origins, folder }: PersistentState,
  workspace: string,
  thread: string | undefined,
): Promise<KeptScript> {
  const { ChangeRecords } = await import('@toolscript/tools');
  const records = new ChangeRecords({ folder: folder.changesFolder });
  const changed = new Set(await readdir(folder.changesFolder).catch(() => [] as string[]));
  const scripts = (await listScripts(store)).filter(({ scriptId }) => changed.has(scriptId));
  for (const script of scripts.toReversed()) {
    const origin = await origins.of(script.scriptId);
    if (origin?.workspace !== workspace || (thread !== undefined && !isThread(origin.thread, thread))) continue;
    if ((await records.read(script.scriptId)).some(({ files }) => files.length > 0)) return script;
  }
  const where = thread === undefined ? visibleLine(workspace) : `the conversation ${visibleLine(thread)}`;
  throw new UsageError(
    `No stored script changed files in ${where}. To list all stored scripts: ${ownCommand()} approvals --all`,
  );
}

/** True if the given text is the id or a prefix of it, with or without `thr_`. */
function isThread(id: string | undefined, given: string): boolean {
  return id !== undefined && (id.startsWith(given) || id.startsWith(`thr_${given}`));
}
