// Undoes and redoes the changes of a script. Arguments: workspace, state folder, records folder, script, `once` or
// `forever`, and the rename at which it kills itself, or 0. `once` waits for a message and reports whether it undid the
// changes.
import { createWorkspace, undoChanges } from '@toolscript/tools';
import { dieAtRename } from './die-at-rename.mjs';

const [root, stateFolder, folder, scriptId, turns, lastRename = '0'] = process.argv.slice(2);
dieAtRename(Number(lastRename));
const workspace = createWorkspace({ roots: root, stateFolder, undo: { folder } });

process.on('disconnect', () => process.exit());
process.send('ready');
if (turns === 'once') {
  await new Promise((resolve) => process.once('message', resolve));
  const done = await undoChanges(workspace, scriptId);
  process.send(done.refused ?? 'done', () => process.exit());
} else {
  for (;;) {
    for (const direction of ['undo', 'redo']) await undoChanges(workspace, scriptId, { direction });
  }
}
