// Undoes and redoes the changes of a script. Arguments: workspace, state folder, records folder, script, `once` or
// `forever`. `once` waits for a message and reports whether it undid the changes.
import { createWorkspace, undoChanges } from '@toolscript/tools';

const [root, stateFolder, folder, scriptId, turns] = process.argv.slice(2);
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
