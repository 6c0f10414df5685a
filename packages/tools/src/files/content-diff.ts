import { isUtf8 } from 'node:buffer';
import { createTwoFilesPatch } from 'diff';
import type { FileChange } from './file-change.js';
import { readEntry } from './read-entry.js';
import type { Workspace } from './workspace.js';

/** Maximum size of a file that is compared. */
const MAX_DIFF_BYTES = 1024 * 1024;
/**
 * Maximum number of different lines of two files that are compared, because a comparison of more lines takes too long.
 */
const MAX_EDITS = 5_000;

/** The change as a unified diff, or one line of explanation if no diff can be shown. */
export async function contentDiff(workspace: Workspace, change: FileChange, path: string): Promise<string> {
  const { state, content = Buffer.alloc(0) } = await readEntry(workspace, change.target, MAX_DIFF_BYTES);
  const next = Buffer.from(change.bytes ?? '');
  if (state.kind === 'link' || change.link !== undefined)
    return `${path}: ${change.link === undefined ? 'the link is removed' : `it becomes a link to ${change.link}`}\n`;
  const bytes = state.kind === 'file' ? state.bytes : 0;
  if (Math.max(bytes, next.length) > MAX_DIFF_BYTES) return `${path}: too large to be compared\n`;
  if (!isText(content ?? next) || !isText(next)) return `${path}: binary, ${bytes} -> ${next.length} bytes\n`;
  const [from, to] = [state.kind === 'absent' ? '/dev/null' : `a/${path}`, change.bytes ? `b/${path}` : '/dev/null'];
  const options = { maxEditLength: MAX_EDITS };
  const text = createTwoFilesPatch(from, to, String(content ?? ''), String(next), '', '', options);
  return text?.replace(/^=+\n/, '') ?? `${path}: too different to be compared\n`;
}

function isText(bytes: Uint8Array): boolean {
  return isUtf8(bytes) && !bytes.includes(0);
}
