import type { PendingRecord, RecordedFile } from './change-records.js';
import { sha256 } from './content-hash.js';
import type { EntryState } from './entry-state.js';
import type { FileChange } from './file-change.js';
import { readEntry } from './read-entry.js';
import type { Workspace } from './workspace.js';

/**
 * Stores the old files of a change, then its record. The commit replaces only the entries that this function reads,
 * because the commit verifies that each entry is unchanged since its target was found. Rejects with a ToolCallError.
 */
export async function recordChange(
  workspace: Workspace,
  record: PendingRecord,
  changes: readonly FileChange[],
  madeFolders: readonly string[],
): Promise<void> {
  const files: RecordedFile[] = [];
  for (const change of changes) {
    const { state, content } = await readEntry(workspace, change.target, record.maxFileBytes);
    const isStored = content !== undefined && (await record.store(content));
    files.push({ path: change.target.realPath, before: state, isStored, after: stateAfter(change) });
  }
  await record.write(files, madeFolders);
}

function stateAfter({ target, bytes, link, like, permissions }: FileChange): EntryState {
  if (link !== undefined) return { kind: 'link', target: link };
  if (bytes === undefined) return { kind: 'absent' };
  const from = permissions ?? target.existing ?? like;
  const mode = from === undefined ? undefined : Number(from.mode & 0o777n);
  return { kind: 'file', sha256: sha256(bytes), bytes: bytes.length, mode };
}
