// Changes one file repeatedly with a tool, and reports how often the tool succeeded. Arguments: workspace, state
// folder, name of this process, how many changes, how many workspaces of this process take turns.
import { applyPatchTool, createWorkspace } from '@toolscript/tools';

const [root, stateFolder, name, count, turns] = process.argv.slice(2);
const tools = Array.from({ length: Number(turns) }, () =>
  applyPatchTool(createWorkspace({ roots: root, stateFolder })),
);
const done = [];
async function addLine(tool, line) {
  const patch = `*** Begin Patch\n*** Update File: list.txt\n@@\n+${line}\n*** End Patch`;
  try {
    await tool.execute({ patch, atomic: true, dryRun: false }, { signal: new AbortController().signal });
    done.push(line);
  } catch (error) {
    if (error.code !== 'ToolExecutionError') throw error;
  }
}
await Promise.all(
  tools.map(async (tool, turn) => {
    for (let at = 0; at < Number(count); at += 1) await addLine(tool, `${name}-${turn}-${at}`);
  }),
);
console.log(JSON.stringify(done));
