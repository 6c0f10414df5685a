import { join, relative, sep } from 'node:path';
import { checkRegularFile, openFolder, verifiedPlace } from '../files/open-verified.js';
import { displayPath, resolvePath, innermostRoot, type Workspace } from '../files/workspace.js';

/** The scope of a search: a file or folder inside one root, with symbolic links resolved. */
export interface SearchScope {
  /** The searched file or folder, absolute. */
  readonly realPath: string;
  /** The path relative to the root, in the form that ripgrep needs: `./` first. */
  readonly argument: string;
  /** The prefix of result paths below the scope: '' or a folder with a trailing `/`. */
  readonly prefix: string;
  /** Formats a path that ripgrep printed, for results. */
  readonly display: (printed: string) => string;
  /** Converts a path that ripgrep printed to the path below the scope, with `/` between names. */
  readonly inside: (printed: string) => string;
}

/**
 * Resolves the scope and runs the search with the root folder open. With 'descriptor' verification, `cwd` names that
 * folder by its handle, so no program can swap it.
 */
export async function inScope<T>(
  workspace: Workspace,
  options: { readonly path: string; readonly cwd?: string | undefined; readonly folderOnly: boolean },
  search: (scope: SearchScope, cwd: string) => Promise<T>,
): Promise<T> {
  const path = resolvePath(workspace, options.path, options.cwd);
  const { realPath, stat } = await verifiedPlace(workspace, path);
  if (!stat.isDirectory()) {
    if (options.folderOnly) await openFolder(workspace, path).then(({ handle }) => handle.close());
    checkRegularFile(stat, path);
  }
  const root = innermostRoot(workspace, realPath)!;
  const folder = await openFolder(workspace, { absolute: root.realPath, given: options.path });
  try {
    const from = relative(root.realPath, realPath);
    const shown = displayPath(workspace, realPath);
    const argument = `.${sep}${from}`;
    const printedPrefix = argument.endsWith(sep) ? argument : `${argument}${sep}`;
    const scope: SearchScope = {
      realPath,
      argument,
      prefix: !stat.isDirectory() || shown === '.' ? '' : `${shown}/`,
      display: (printed) => displayPath(workspace, join(root.realPath, printed)),
      inside: (printed) => {
        const below = printed.startsWith(printedPrefix) ? printed.slice(printedPrefix.length) : from;
        return sep === '/' ? below : below.split(sep).join('/');
      },
    };
    return await search(scope, folder.ownPath);
  } finally {
    await folder.handle.close();
  }
}
