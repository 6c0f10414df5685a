/** A file or folder that other programs execute or obey. */
export interface ProtectedEntry {
  readonly path: string;
  readonly reason: string;
  /**
   * 'repository' is always harmless, 'config' and 'hooks' may be harmless, and 'name', 'git' and 'link' (a link or a
   * special file among git's data) never are.
   */
  readonly kind: 'name' | 'config' | 'hooks' | 'git' | 'link' | 'repository';
  /** The repositories with a fixed place (`.git`, submodules, worktrees) that contain the entry, the outermost first. */
  readonly within: readonly string[];
}
