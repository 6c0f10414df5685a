// Applies one patch to many files, forth and back, until it is killed. Arguments: workspace, state folder, files, and
// the rename at which it kills itself, or 0.
import { applyPatchTool, createWorkspace } from '@toolscript/tools';
import { dieAtRename } from './die-at-rename.mjs';

const [root, stateFolder, files, lastRename] = process.argv.slice(2);
dieAtRename(Number(lastRename));
const tool = applyPatchTool(createWorkspace({ roots: root, stateFolder }));
const context = { signal: new AbortController().signal };

function patchOf(old, now) {
  const updates = Array.from({ length: Number(files) }, (_, at) => `*** Update File: f${at}\n@@\n-${old}\n+${now}`);
  const made = now === 'new' ? '*** Add File: made/deep/x\n+x' : '*** Delete File: made/deep/x';
  return ['*** Begin Patch', ...updates, made, '*** End Patch'].join('\n');
}

process.on('disconnect', () => process.exit());
process.send('ready');
for (;;) {
  await tool.execute({ patch: patchOf('old', 'new'), atomic: true, dryRun: false }, context);
  await tool.execute({ patch: patchOf('new', 'old'), atomic: true, dryRun: false }, context);
}
