import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open, readlink, type FileHandle } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { ToolCallError } from '@toolscript/core/protocol';
import { failure } from '../failure.js';
import type { EntryState } from './entry-state.js';
import { ioFailure, openFolder, using, type VerifiedFolder } from './open-verified.js';
import { quotePath } from './path-rules.js';
import type { WriteTarget } from './target.js';
import type { Workspace } from './workspace.js';

export interface ReadEntry {
  readonly state: EntryState;
  /** The content of a file, unless the file is larger than `maxBytes`. */
  readonly content: Buffer | undefined;
}

/**
 * Reads the entry of a target without following links. Throws a ToolCallError if the entry is no longer the one that
 * the target describes.
 */
export async function readEntry(workspace: Workspace, target: WriteTarget, maxBytes: number): Promise<ReadEntry> {
  const { existing, realPath, given } = target;
  if (existing === undefined) return { state: { kind: 'absent' }, content: undefined };
  const place = dirname(realPath);
  return using(openFolder(workspace, { absolute: place, given }), async (folder) => {
    if (folder.realPath !== place) throw replacedFileError(given);
    try {
      return existing.isSymbolicLink()
        ? await readLink(folder, basename(realPath))
        : await readRegular(folder, target, maxBytes);
    } catch (error) {
      // A `ToolCallError` also has a code, but not a system code.
      throw error instanceof ToolCallError ? error : ioFailure({ given, absolute: realPath }, error);
    }
  });
}

async function readLink(folder: VerifiedFolder, name: string): Promise<ReadEntry> {
  return { state: { kind: 'link', target: await readlink(folder.entryPath(name)) }, content: undefined };
}

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
const CHUNK_BYTES = 256 * 1024;

async function readRegular(
  folder: VerifiedFolder,
  { realPath, given, existing }: WriteTarget,
  maxBytes: number,
): Promise<ReadEntry> {
  const handle = await open(folder.entryPath(basename(realPath)), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const found = await handle.stat({ bigint: true });
    if (found.ino !== existing!.ino || found.dev !== existing!.dev) throw replacedFileError(given);
    const { hash, bytes, content } = await hashContent(handle, Number(found.size), found.size <= BigInt(maxBytes));
    const [mode, uid, gid] = [Number(found.mode & 0o777n), Number(found.uid), Number(found.gid)];
    return { state: { kind: 'file', sha256: hash, bytes, mode, uid, gid }, content };
  } finally {
    await handle.close();
  }
}

/**
 * Reads the bytes that the file had when it was opened. If the file grows or shrinks meanwhile, the commit fails. Keeps
 * only the hash of a large file.
 */
async function hashContent(
  handle: FileHandle,
  size: number,
  isKept: boolean,
): Promise<{ hash: string; bytes: number; content: Buffer | undefined }> {
  const hash = createHash('sha256');
  const content = isKept ? Buffer.alloc(size) : undefined;
  const chunk = content ?? Buffer.allocUnsafe(CHUNK_BYTES);
  let bytes = 0;
  while (bytes < size) {
    const at = content === undefined ? 0 : bytes;
    const wanted = Math.min(CHUNK_BYTES, size - bytes);
    const { bytesRead } = await handle.read(chunk, at, wanted, bytes);
    if (bytesRead === 0) break;
    hash.update(chunk.subarray(at, at + bytesRead));
    bytes += bytesRead;
  }
  return { hash: hash.digest('base64url'), bytes, content: content?.subarray(0, bytes) };
}

function replacedFileError(given: string): Error {
  return failure('changed', `${quotePath(given)} was replaced while it was being read. Try again.`, { path: given });
}
