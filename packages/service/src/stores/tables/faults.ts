import { StoreUnavailableError } from '@toolscript/core/ports';

/** Maximum time that a statement waits for another process's transaction, in ms. */
export const BUSY_MS = 15_000;

const SENTENCES: Readonly<Record<string, (path: string) => string>> = {
  busy: (path) =>
    `${path} is locked: another process has held it for ${BUSY_MS / 1_000} s. End that process, or try again later.`,
  damaged: (path) =>
    `${path} is damaged, or is not a Toolscript database. Move it away to start with an empty one, or restore a backup.`,
  full: (path) => `${path} cannot grow: the disk is full. Free disk space and try again.`,
  refused: (path) =>
    `${path} cannot be opened for writing. Give your user write permission for the file and its folder, or name another file.`,
  disk: (path) =>
    `${path} cannot be read or written: its disk or file system failed. Check the disk, and restore a backup of the file.`,
};

/** The kind of fault for each primary result code of SQLite. */
const KIND_OF_CODE: Readonly<Record<number, string>> = {
  5: 'busy',
  6: 'busy',
  8: 'refused',
  10: 'disk',
  11: 'damaged',
  13: 'full',
  14: 'refused',
  23: 'refused',
  26: 'damaged',
};

const KIND_OF_SYSTEM_CODE: Readonly<Record<string, string>> = {
  EACCES: 'refused',
  EEXIST: 'refused',
  EISDIR: 'refused',
  ENOENT: 'refused',
  ENOSPC: 'full',
  ENOTDIR: 'refused',
  EPERM: 'refused',
  EDQUOT: 'full',
  EIO: 'disk',
  EROFS: 'refused',
};

/**
 * A `StoreUnavailableError` that describes the error and the fix, if the database or the system caused the error;
 * otherwise the error itself.
 */
export function describeFault(error: unknown, path: string): unknown {
  const kind = sqliteFaultKind(error);
  if (kind === undefined) return error;
  return new StoreUnavailableError(SENTENCES[kind]!(path), { cause: error });
}

/** The primary result code of SQLite, or 0. */
export function sqliteCode(error: unknown): number {
  const raw = (error as { rawCode?: unknown } | undefined)?.rawCode;
  return typeof raw === 'number' ? raw & 255 : 0;
}

function sqliteFaultKind(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code } = error as { code?: unknown };
  // If a file cannot be opened, the error has its code only in the message.
  const opening = error.message.includes('ConnectionFailed(') ? /: (\d+)"\)/u.exec(error.message)?.[1] : undefined;
  return (
    KIND_OF_CODE[sqliteCode(error) || Number(opening ?? 0)] ??
    (typeof code === 'string' ? KIND_OF_SYSTEM_CODE[code] : undefined)
  );
}
