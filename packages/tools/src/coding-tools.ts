import type { Tool } from '@toolscript/core/protocol';
import { execTool, type ExecOptions } from './exec/exec.js';
import { listDirTool } from './files/list-dir.js';
import { readFileTool } from './files/read-file.js';
import { createWorkspace, type WorkspaceOptions } from './files/workspace.js';
import { writeFileTool } from './files/write-file.js';
import { applyPatchTool } from './patch/apply-patch.js';
import { updatePlanTool } from './plan/update-plan.js';
import { fileSearchTool } from './search/file-search.js';
import { grepFilesTool } from './search/grep-files.js';

export interface CodingToolsOptions extends WorkspaceOptions {
  /** Settings of `exec`; false leaves the tool out. */
  readonly exec?: ExecOptions | false;
}

/**
 * The tools for work on a folder: readFile, writeFile, listDir, grepFiles, fileSearch, applyPatch, exec,
 * updatePlan. Throws a ToolscriptUsageError where a root is missing or not a folder.
 */
export function codingTools({ exec, ...workspaceOptions }: CodingToolsOptions): Tool[] {
  const workspace = createWorkspace(workspaceOptions);
  return [
    readFileTool(workspace),
    writeFileTool(workspace),
    listDirTool(workspace),
    grepFilesTool(workspace),
    fileSearchTool(workspace),
    applyPatchTool(workspace),
    ...(exec === false ? [] : [execTool(workspace, exec)]),
    updatePlanTool(),
  ];
}
