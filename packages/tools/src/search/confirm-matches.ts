import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { throwIfAborted } from '../failure.js';
import { openFile, using } from '../files/open-verified.js';
import { resolvePath, type Workspace } from '../files/workspace.js';

/** A line that ripgrep says matches, not yet confirmed to come from inside the workspace. */
export interface MatchedLine {
  readonly path: string;
  /** Relative to the folder that was searched. */
  readonly inside: string;
  readonly line: number;
  readonly column: number;
  readonly text: string;
  /** The line's bytes: where they are in the file, how many, and their SHA-256. */
  readonly offset: number;
  readonly length: number;
  readonly sha256: string;
}

/**
 * ripgrep opens files by their paths, and a path can be swapped for a link while it walks. So each line is read
 * again from a file that was verified, and what is not the same there is left out.
 */
export async function confirmMatches(
  workspace: Workspace,
  candidates: readonly MatchedLine[],
  enough: number,
  signal: AbortSignal | undefined,
): Promise<{ confirmed: MatchedLine[]; rejected: number }> {
  const confirmed: MatchedLine[] = [];
  let examined = 0;
  for (const [path, group] of byPath(candidates)) {
    throwIfAborted(signal);
    if (confirmed.length >= enough) break;
    examined += group.length;
    try {
      await using(openFile(workspace, resolvePath(workspace, path)), async ({ handle }) => {
        for (const candidate of group) if (await holds(handle, candidate)) confirmed.push(candidate);
      });
    } catch {
      // Gone, replaced, or no file that may be read: left out and counted.
    }
  }
  return { confirmed, rejected: examined - confirmed.length };
}

/** A byte order mark is no part of the text that ripgrep counts. */
const BOM_BYTES = 3;

async function holds(handle: FileHandle, { offset, length, sha256: wanted }: MatchedLine): Promise<boolean> {
  const bytes = Buffer.alloc(length);
  for (const start of [offset, offset + BOM_BYTES]) {
    const { bytesRead } = await handle.read(bytes, 0, length, start);
    if (bytesRead === length && sha256(bytes) === wanted) return true;
  }
  return false;
}

function byPath(candidates: readonly MatchedLine[]): Map<string, MatchedLine[]> {
  const groups = new Map<string, MatchedLine[]>();
  for (const candidate of candidates) {
    const group = groups.get(candidate.path);
    if (group) group.push(candidate);
    else groups.set(candidate.path, [candidate]);
  }
  return groups;
}

export function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('base64');
}
