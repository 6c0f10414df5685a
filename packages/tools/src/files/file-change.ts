import type { BigIntStats } from 'node:fs';
import type { WriteTarget } from './target.js';

/** Permissions and owner of a file, as the system reports them. */
export type Permissions = Pick<BigIntStats, 'mode' | 'uid' | 'gid'>;

export interface FileChange {
  readonly target: WriteTarget;
  /** Undefined without `link` deletes the file. */
  readonly bytes: Uint8Array | undefined;
  /** Makes a symbolic link to this target. */
  readonly link?: string | undefined;
  /** For a new file: the file whose permissions and owner it copies. */
  readonly like?: Permissions | undefined;
  /** Replaces the permissions of an existing file too. */
  readonly permissions?: Permissions | undefined;
  /**
   * SHA-256 of the old content from which the new one was computed; undefined if the new content does not depend on it.
   */
  readonly computedFrom?: string | undefined;
}
