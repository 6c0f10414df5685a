import { randomBytes } from 'node:crypto';
import { mkdirSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { ChangeCause } from '../../files/commit.js';
import type { ChangeRecords, NamedRecord, RecordCause, RecordedFile } from '../../files/change-records.js';
import { sameState, type EntryState } from '../../files/entry-state.js';
import { makePrivateFolder } from '../../files/state-folder.js';
import type { Workspace } from '../../files/workspace.js';
import { checkInTurns } from '../../work-slices.js';
import { CheckpointGap, PrivateRepository } from './private-repository.js';
import { entryStats, takeSnapshot, type Snapshot } from './snapshot.js';
import { treeChanges, type FileFacts } from './tree-changes.js';

/*
 * Records what the commands of a script change in a git workspace, so that undo can revert it like the changes of
 * `writeFile`. A snapshot before the command and one after it are trees of a private repository; their difference
 * becomes a record (change-records.ts). If the process is killed during a command, its changes are not recorded.
 *
 * Commands of a script that overlap share one series of snapshots: each command that ends records what has changed
 * since the last snapshot. A snapshot waits for the running changes of `writeFile` and `applyPatch`.
 */

/** The effects of a command that no record has. */
const NEVER_RECORDED = 'files that git ignores, and effects outside of the workspace, are not recorded';

/** The snapshots of the running commands of one script. */
interface Series {
  runs: number;
  readonly folder: string;
  readonly startedMs: number;
  /** The last snapshot, or the reason why there is none. */
  last: Promise<Place | CheckpointGap>;
}

interface Place {
  readonly repository: PrivateRepository;
  readonly snapshot: Snapshot;
  readonly facts: ReadonlyMap<string, FileFacts>;
  /** The name of the newest record of the script at the time of the snapshot. */
  readonly newest: string;
}

export class Checkpoints {
  readonly #workspace: Workspace;
  readonly #series = new Map<string, Series>();

  constructor(workspace: Workspace) {
    this.#workspace = workspace;
  }

  /** Runs a command, and records what it changes. Without records or without a script, it only runs the command. */
  async during<Result>(cause: ChangeCause, command: () => Promise<Result>): Promise<Result> {
    const { records } = this.#workspace;
    if (records === undefined || cause.record === undefined) return command();
    const { scriptId } = cause.record;
    const series = this.#series.get(scriptId) ?? this.#begin(records, cause);
    series.runs += 1;
    try {
      await series.last;
      return await command();
    } finally {
      await this.#record(records, series, cause);
      series.runs -= 1;
      if (series.runs === 0) {
        this.#series.delete(scriptId);
        rmSync(series.folder, { recursive: true, force: true });
      }
    }
  }

  #begin(records: ChangeRecords, cause: ChangeCause): Series {
    const { scriptId } = cause.record!;
    const folder = join(records.scriptFolder(scriptId), `checkpoint-${randomBytes(9).toString('base64url')}`);
    const start = async (): Promise<Place> => {
      if (!makePrivateFolder(records.folder)) throw new CheckpointGap('the data folder is not private to this user');
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const repository = await PrivateRepository.create(this.#workspace, folder);
      return this.#take(records, scriptId, repository);
    };
    const last = this.#workspace.exclusive(start, cause).catch(asGap);
    const series = { runs: 0, folder, startedMs: Date.now(), last };
    this.#series.set(scriptId, series);
    return series;
  }

  async #take(records: ChangeRecords, scriptId: string, repository: PrivateRepository): Promise<Place> {
    const { maxFileBytes, maxScriptBytes: maxTotalBytes } = records;
    const snapshot = await takeSnapshot(repository, { maxFileBytes, maxTotalBytes });
    const facts = new Map<string, FileFacts>();
    await checkInTurns(snapshot.paths, (path) => {
      const found = entryStats(repository, path);
      if (found === undefined) return;
      const { mode, uid, gid, size } = found;
      facts.set(path, { mode, uid, gid, size });
    });
    return { repository, snapshot, facts, newest: (await records.read(scriptId)).at(-1)?.name ?? '' };
  }

  /** Records the changes since the last snapshot. Never rejects: the command has run, and its result counts. */
  async #record(
    records: ChangeRecords,
    series: Series,
    { record, principal, queueWaitMs }: ChangeCause,
  ): Promise<void> {
    const before = series.last;
    const step = async (): Promise<Place | CheckpointGap> => {
      const from = await before;
      const next = from instanceof CheckpointGap ? from : await this.#next(records, series, record!, from).catch(asGap);
      if (next instanceof CheckpointGap) await writeGap(records, record!, next);
      return next;
    };
    series.last = before.then(() => this.#workspace.exclusive(step, { principal, queueWaitMs })).catch(asGap);
    await series.last;
  }

  async #next(records: ChangeRecords, { startedMs }: Series, cause: RecordCause, from: Place): Promise<Place> {
    const { repository } = from;
    const next = await this.#take(records, cause.scriptId, repository);
    const pending = await records.reserve(cause);
    const earlier = recordedSince(await records.read(cause.scriptId), from.newest);
    const files: RecordedFile[] = [];
    for await (const group of treeChanges(repository, from.snapshot, next.snapshot, from.facts)) {
      for (const { path: name, before, after, content } of group) {
        const path = join(repository.root, name);
        const known = earlier.get(path);
        // A call recorded this change already.
        if (known !== undefined && sameState(known, after)) continue;
        const isStored = content !== undefined && (await pending.store(content));
        files.push({ path, before: known ?? before, isStored, after });
      }
    }
    await pending.writeDone({
      files,
      madeFolders: madeFolders(repository.root, files, startedMs),
      gap: NEVER_RECORDED,
    });
    return { ...next, newest: basename(pending.path) };
  }
}

/** The states that the records after `newest` left, by path. */
function recordedSince(records: readonly NamedRecord[], newest: string): Map<string, EntryState> {
  const later = records.filter(({ name }) => name > newest);
  return new Map(later.flatMap(({ files }) => files.map(({ path, after }) => [path, after] as const)));
}

/** The folders of new files that are younger than the series, deepest first. */
function madeFolders(root: string, files: readonly RecordedFile[], startedMs: number): string[] {
  const folders = new Set<string>();
  for (const { path, before } of files) {
    if (before.kind !== 'absent') continue;
    for (let folder = dirname(path); folder.length > root.length && !folders.has(folder); folder = dirname(folder))
      if ((statSync(folder, { throwIfNoEntry: false })?.birthtimeMs ?? 0) >= startedMs) folders.add(folder);
  }
  return [...folders].sort((one, other) => other.length - one.length);
}

async function writeGap(records: ChangeRecords, cause: RecordCause, { message }: CheckpointGap): Promise<void> {
  const gap = `the files that its program changed are not recorded, because ${message}`;
  await (await records.reserve(cause)).writeDone({ files: [], madeFolders: [], gap });
}

function asGap(error: unknown): CheckpointGap {
  if (error instanceof CheckpointGap) return error;
  const [line = ''] = String((error as Error).message).split('\n');
  return new CheckpointGap(`the checkpoint failed (${line})`);
}
