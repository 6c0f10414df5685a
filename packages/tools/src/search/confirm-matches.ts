import type { FileHandle } from 'node:fs/promises';
import { failureReason, throwIfAborted } from '../failure.js';
import { sha256 } from '../files/content-hash.js';
import { openFile, using } from '../files/open-verified.js';
import { splitLines } from '../files/text.js';
import { resolvePath, type Workspace } from '../files/workspace.js';

/** A match that ripgrep reported. The line is not yet confirmed to come from inside the workspace. */
export interface MatchedLine {
  readonly path: string;
  /** The path relative to the searched folder. */
  readonly inside: string;
  readonly line: number;
  /** The last line of the match. It is greater than `line` only if the match spans several lines. */
  readonly endLine: number;
  readonly column: number;
  readonly text: string;
  /** The line's bytes: their offset in the file, their number, and their SHA-256. */
  readonly offset: number;
  readonly length: number;
  readonly sha256: string;
}

export interface ConfirmedLine extends MatchedLine {
  /** The context lines above (nearest last) and below. */
  readonly before: readonly string[];
  readonly after: readonly string[];
}

/** Maximum number of bytes that are read on each side for context lines. */
const CONTEXT_BYTES = 16 * 1024;

const NEWLINE = 10;

/**
 * Reads each line again from a verified file, and omits lines that differ: ripgrep opens files by path, and a path can
 * be swapped for a link during the walk.
 */
export async function confirmMatches(
  workspace: Workspace,
  candidates: readonly MatchedLine[],
  { enough, context = 0, signal }: { enough: number; context?: number | undefined; signal?: AbortSignal | undefined },
): Promise<{ confirmed: ConfirmedLine[]; rejected: number }> {
  const confirmed: ConfirmedLine[] = [];
  let examined = 0;
  for (const [path, group] of byPath(candidates)) {
    throwIfAborted(signal);
    if (confirmed.length >= enough) break;
    examined += group.length;
    try {
      await using(openFile(workspace, resolvePath(workspace, path)), async ({ handle }) => {
        for (const candidate of group) {
          throwIfAborted(signal);
          const start = await confirmedStart(handle, candidate);
          if (start === undefined) continue;
          confirmed.push({ ...candidate, ...(await linesAround(handle, start, candidate.length, context)) });
        }
      });
    } catch (error) {
      if (failureReason(error) === 'aborted') throw error;
      // Files that are missing, replaced or forbidden are omitted and counted.
    }
  }
  return { confirmed, rejected: examined - confirmed.length };
}

/** The length of a byte order mark, which ripgrep does not count as text. */
const BOM_BYTES = 3;

/** The offset of the line's bytes in the file; undefined if the file does not have these bytes there. */
async function confirmedStart(
  handle: FileHandle,
  { offset, length, sha256: wanted }: MatchedLine,
): Promise<number | undefined> {
  for (const start of [offset, offset + BOM_BYTES]) {
    const bytes = await bytesAt(handle, start, length);
    // defence: grep-confirm-line
    if (bytes.length === length && sha256(bytes) === wanted) return start;
  }
  return undefined;
}

async function linesAround(
  handle: FileHandle,
  start: number,
  length: number,
  context: number,
): Promise<Pick<ConfirmedLine, 'before' | 'after'>> {
  if (context === 0) return { before: [], after: [] };
  const from = Math.max(0, start - CONTEXT_BYTES);
  const above = decodedLines(await bytesAt(handle, from, start - from));
  // The first line may be incomplete, so it is dropped.
  if (from > 0) above.shift();
  const bytes = await bytesAt(handle, start + length, CONTEXT_BYTES);
  const below = decodedLines(bytes);
  // The last line is incomplete. A line that fills all bytes is shown in part, like every long line.
  if (bytes.length === CONTEXT_BYTES && below.length > 1 && bytes.at(-1) !== NEWLINE) below.pop();
  return { before: above.slice(-context), after: below.slice(0, context) };
}

function decodedLines(bytes: Buffer): string[] {
  return splitLines(new TextDecoder().decode(bytes));
}

async function bytesAt(handle: FileHandle, start: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  const { bytesRead } = await handle.read(bytes, 0, length, start);
  return bytes.subarray(0, bytesRead);
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
