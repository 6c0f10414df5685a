import { failureMessage, failureReason } from '../failure.js';
import type { ChangeRecords, NamedRecord } from '../files/change-records.js';
import { sha256 } from '../files/content-hash.js';
import { sameState, type EntryState } from '../files/entry-state.js';
import type { FileChange, Permissions } from '../files/file-change.js';
import { readEntry } from '../files/read-entry.js';
import { findEntryTarget, type WriteTarget } from '../files/target.js';
import { displayPath, resolvePath, type Workspace } from '../files/workspace.js';
import { activeRecords, type UndoDirection } from './active-records.js';
import { madeFolders, netChanges, type NetChange } from './net-changes.js';
import { contentDiff } from '../files/content-diff.js';

/** The effect of an undo on one file. */
export interface UndoFile {
  /** The path in the form that the tools show. */
  readonly path: string;
  readonly change: 'create' | 'update' | 'delete';
  /**
   * A unified diff, or one line of explanation if no diff can be shown. Present only if the request asked for diffs.
   */
  readonly diff?: string | undefined;
}

/** A file that the undo does not change, and the reason why. */
export interface UndoProblem {
  readonly path: string;
  readonly reason: string;
}

export interface UndoPlan {
  readonly scriptId: string;
  readonly direction: UndoDirection;
  /** Identifies the changes that the plan reverts. The id differs after each further change of the script. */
  readonly planId: string;
  readonly files: readonly UndoFile[];
  /** The files that prevent the undo, for example because another change followed the changes of the script. */
  readonly conflicts: readonly UndoProblem[];
  /** The files that stay as they are, because their old content was not stored. */
  readonly notUndoable: readonly UndoProblem[];
  /** The calls whose changes the undo reverts. */
  readonly callIds: readonly string[];
  /** The calls with effects that are not recorded, such as commands. */
  readonly gaps: readonly UndoGap[];
}

/** A call with effects that an undo does not revert, in words for the user. */
export interface UndoGap {
  readonly callId: string;
  readonly reason: string;
}

export type UndoRefusalCode = 'nothing_recorded' | 'already_undone' | 'not_undone' | 'busy' | 'changed' | 'conflicts';

/** The reason why an undo is refused. A refused undo changes nothing. */
export interface UndoRefusal {
  readonly refused: UndoRefusalCode;
  readonly message: string;
  readonly conflicts: readonly UndoProblem[];
  /** As in a plan. Default: none. */
  readonly gaps?: readonly UndoGap[] | undefined;
}

/** A plan with the changes that carry it out. */
export interface PreparedUndo extends UndoPlan {
  readonly covers: readonly string[];
  readonly changes: readonly FileChange[];
  readonly emptiedFolders: readonly string[];
  /** The paths that the undo reads or changes. */
  readonly places: readonly string[];
}

export interface PlanOptions {
  readonly direction: UndoDirection;
  readonly withDiff: boolean;
}

/** Compares the recorded changes of a script with the files. Changes nothing. */
export async function prepareUndo(
  workspace: Workspace,
  records: ChangeRecords,
  scriptId: string,
  { direction, withDiff }: PlanOptions,
): Promise<PreparedUndo | UndoRefusal> {
  const all = await records.read(scriptId);
  if (all.some(({ isDone }) => !isDone))
    return refusal('busy', `${scriptId} is changing files right now. Try again later.`);
  const found = recordsToRevert(scriptId, all, direction);
  const gaps = all.flatMap(({ callId, gap }) =>
    callId === undefined || gap === undefined ? [] : [{ callId, reason: gap }],
  );
  if ('refused' in found) return { ...found, gaps };
  const { reverted, covers } = found;
  const planner = new UndoPlanner(workspace, records, scriptId, withDiff);
  const net = netChanges(reverted);
  for (const change of net) await planner.add(change);
  const { files, changes, conflicts, notUndoable } = planner;
  return {
    scriptId,
    direction,
    planId: sha256(Buffer.from(JSON.stringify([direction, ...reverted.map(({ name }) => name)]))),
    files,
    conflicts,
    notUndoable,
    gaps,
    callIds: [...new Set(all.flatMap(({ name, callId }) => (covers.includes(name) && callId ? [callId] : [])))],
    covers,
    changes,
    emptiedFolders: madeFolders(reverted),
    places: net.map(({ path }) => path),
  };
}

export function refusal(code: UndoRefusalCode, message: string, conflicts: readonly UndoProblem[] = []): UndoRefusal {
  return { refused: code, message, conflicts };
}

function recordsToRevert(
  scriptId: string,
  all: readonly NamedRecord[],
  direction: UndoDirection,
): { reverted: readonly NamedRecord[]; covers: readonly string[] } | UndoRefusal {
  const withFiles = all.filter(({ kind, files }) => kind !== 'change' || files.length > 0);
  const { changes, undone } = activeRecords(withFiles);
  if (direction === 'redo') {
    if (undone !== undefined) return { reverted: [undone], covers: undone.covers };
    return refusal(
      'not_undone',
      `There is nothing to redo: the last change of ${scriptId} was not an undo. Undo the script first.`,
    );
  }
  if (changes.length > 0) return { reverted: changes, covers: changes.map(({ name }) => name) };
  if (withFiles.length > 0) return refusal('already_undone', `The file changes of ${scriptId} are already undone.`);
  return refusal(
    'nothing_recorded',
    `No file changes of ${scriptId} are recorded, so there is nothing to undo. Check the id of the script.`,
  );
}

class UndoPlanner {
  readonly files: UndoFile[] = [];
  readonly changes: FileChange[] = [];
  readonly conflicts: UndoProblem[] = [];
  readonly notUndoable: UndoProblem[] = [];
  readonly #workspace: Workspace;
  readonly #records: ChangeRecords;
  readonly #scriptId: string;
  readonly #withDiff: boolean;

  constructor(workspace: Workspace, records: ChangeRecords, scriptId: string, withDiff: boolean) {
    this.#workspace = workspace;
    this.#records = records;
    this.#scriptId = scriptId;
    this.#withDiff = withDiff;
  }

  async add(net: NetChange): Promise<void> {
    const path = displayPath(this.#workspace, net.path);
    if (net.before.kind === 'file' && !net.isStored) {
      const size = `${(net.before.bytes / 1024 / 1024).toFixed(1)} MB`;
      this.notUndoable.push({
        path,
        reason: `its old content (${size}) was not stored, because it exceeds the size limits for undo, or git converts it`,
      });
      return;
    }
    try {
      await this.#addReadable(net, path);
    } catch (error) {
      if (failureReason(error) === undefined) throw error;
      this.conflicts.push({ path, reason: failureMessage(error) });
    }
  }

  async #addReadable(net: NetChange, path: string): Promise<void> {
    const target = await this.#recordedTarget(net.path, path);
    if (target === undefined) return void this.conflicts.push({ path, reason: 'its folder is now a link' });
    const { state: current } = await readEntry(this.#workspace, target, 0);
    if (isRestored(current, net)) return;
    if (!sameState(current, net.after)) return void this.conflicts.push({ path, reason: whyChanged(current) });
    if (net.isBroken) {
      const reason = 'another program, or a command of the script, changed it between two calls of the script';
      return void this.conflicts.push({ path, reason });
    }
    const change = await this.#changeTo(net, target, current);
    const diff = this.#withDiff ? await contentDiff(this.#workspace, change, path) : undefined;
    this.changes.push(change);
    this.files.push({ path, change: undoChangeKind(current, net.before), ...(diff !== undefined && { diff }) });
  }

  /** The target of a recorded change. Undefined if its path now leads to another file. */
  async #recordedTarget(realPath: string, given: string): Promise<WriteTarget | undefined> {
    const target = await findEntryTarget(this.#workspace, { ...resolvePath(this.#workspace, realPath), given });
    // defence: undo-follows-no-links
    return target.realPath === realPath ? target : undefined;
  }

  async #changeTo({ before, after }: NetChange, target: WriteTarget, current: EntryState): Promise<FileChange> {
    const computedFrom = current.kind === 'file' ? current.sha256 : undefined;
    if (before.kind === 'absent') return { target, bytes: undefined, computedFrom };
    if (before.kind === 'link') return { target, bytes: undefined, link: before.target, computedFrom };
    const bytes = await this.#records.content(this.#scriptId, before.sha256);
    return { target, bytes, computedFrom, permissions: permissionsAfter(before, after, current) };
  }
}

/** Whether the file is already in the state that an undo would restore. */
function isRestored(current: EntryState, { before, after }: NetChange): boolean {
  if (!sameState(current, before)) return false;
  // If the script changed only the permissions, the permissions decide.
  const isUnchanged = sameState(current, after) && before.kind === 'file' && after.kind === 'file';
  return !isUnchanged || before.mode === after.mode || before.mode === (current as typeof before).mode;
}

/**
 * The old permissions if the script changed the permissions; otherwise the current ones, which the user may have set
 * since.
 */
function permissionsAfter(
  before: Extract<EntryState, { kind: 'file' }>,
  after: EntryState,
  current: EntryState,
): Permissions {
  const isKept = current.kind === 'file' && after.kind === 'file' && after.mode === before.mode;
  const { mode = 0o644, uid = 0, gid = 0 } = isKept ? current : before;
  return { mode: BigInt(mode), uid: BigInt(uid), gid: BigInt(gid) };
}

function undoChangeKind(current: EntryState, after: EntryState): UndoFile['change'] {
  if (after.kind === 'absent') return 'delete';
  return current.kind === 'absent' ? 'create' : 'update';
}

function whyChanged(current: EntryState): string {
  return current.kind === 'absent' ? 'it was deleted or moved since' : 'it was changed since';
}
