import type { NamedRecord, RecordedFile } from '../files/change-records.js';
import { sameState, type EntryState } from '../files/entry-state.js';

/** The net effect of several changes in a row on one path. */
export interface NetChange {
  readonly path: string;
  readonly before: EntryState;
  /** Whether the old content is stored, if the path had a file. */
  readonly isStored: boolean;
  readonly after: EntryState;
  /** Whether something else changed the entry between two of the changes. */
  readonly isBroken: boolean;
}

/** The net changes of records, one for each path. The oldest record must come first. */
export function netChanges(records: readonly NamedRecord[]): NetChange[] {
  const net = new Map<string, NetChange>();
  for (const { files } of records) for (const file of files) net.set(file.path, joinedChange(net.get(file.path), file));
  return [...net.values()];
}

function joinedChange(earlier: NetChange | undefined, file: RecordedFile): NetChange {
  if (earlier === undefined) return { ...file, isBroken: false };
  const isBroken = earlier.isBroken || !sameState(earlier.after, file.before);
  return { ...earlier, after: file.after, isBroken };
}

/** The folders that the records created, each before its parent folder. */
export function madeFolders(records: readonly NamedRecord[]): string[] {
  const folders = new Set(records.flatMap((record) => record.madeFolders));
  return [...folders].sort((one, other) => other.length - one.length);
}
