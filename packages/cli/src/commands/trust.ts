import { userFolder, WORKSPACE_FILE } from '../configuration/locations.js';
import { demandOwnFoldersOutside } from '../configuration/own-paths.js';
import { changeTrust } from '../configuration/trust.js';
import { workspaceFolder } from '../configuration/workspace-folder.js';
import { EXIT } from '../exit-status.js';
import { visibleLine } from '../terminal/untrusted.js';

/** Lets a workspace's own configuration count, or ends that. */
export async function trustFolder(
  folder: string | undefined,
  { remove = false }: { remove?: boolean },
): Promise<number> {
  const real = await workspaceFolder(folder);
  demandOwnFoldersOutside(real, process.env);
  const changed = await changeTrust(userFolder(process.env), real, !remove);
  const name = visibleLine(real);
  const counts = remove ? 'no longer counts' : 'counts from now on';
  process.stdout.write(
    changed
      ? `${name}: its ${WORKSPACE_FILE} ${counts}.\n`
      : `${name} was ${remove ? 'not' : 'already'} trusted; nothing changed.\n`,
  );
  return EXIT.completed;
}
