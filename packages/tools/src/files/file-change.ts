import type { BigIntStats } from 'node:fs';
import type { WriteTarget } from './target.js';

/** Permissions and owner of a file, as the system reports them. */
export type Permissions = Pick<BigIntStats, 'mode' | 'uid' | 'gid'>;

export interface FileChange {
  readonly target: WriteTarget;
  /** The new content. Undefined deletes the file, unless `link` is set. */
  readonly bytes: Uint8Array | undefined;
  /** The target of the symbolic link that the change creates. */
  readonly link?: string | undefined;
  /** The permissions and owner of a new file. Default: the system's default for new files. */
  readonly like?: Permissions | undefined;
  /** The permissions and owner that the file gets, even if the file exists already. */
  readonly permissions?: Permissions | undefined;
  /**
   * SHA-256 of the old content from which the new one was computed; undefined if the new content does not depend on it.
   */
  readonly computedFrom?: string | undefined;
}
