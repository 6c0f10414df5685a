import { guardDestinations } from '@toolscript/core';
import type { DocumentStore, Tool } from '@toolscript/core/protocol';
import { createExec, execTool, type ExecOptions } from './exec/exec.js';
import { shellTool } from './exec/shell.js';
import { listDirTool } from './files/list-dir.js';
import { readFileTool } from './files/read-file.js';
import { createWorkspace, type Workspace, type WorkspaceOptions } from './files/workspace.js';
import { writeFileOrKeyTool } from './files/write-file-or-key.js';
import { writeFileTool } from './files/write-file.js';
import { viewImageTool } from './media/view-image.js';
import { applyPatchTool } from './patch/apply-patch.js';
import { updatePlanTool } from './plan/update-plan.js';
import { fileSearchTool } from './search/file-search.js';
import { grepFilesTool } from './search/grep-files.js';

export interface CodingToolsOptions extends WorkspaceOptions {
  /** Settings of `exec`; false omits `exec` and `shell`. */
  readonly exec?: ExecOptions | false | undefined;
  /** True: adds `shell`, with the settings and in the sandbox of `exec`. Default false. */
  readonly shell?: boolean | undefined;
  /** The File Cabinet. With it, `writeFile` also takes a `fileKey`. See `cabinetTools`. */
  readonly documents?: DocumentStore | undefined;
  /**
   * `destinations`: guards the paths of tools that write, and commands; see `guardDestinations`. Paths inside a patch are
   * not guarded. Default: no argument is guarded.
   */
  readonly flow?: 'destinations' | undefined;
}

/**
 * The tools for work on a folder: readFile, writeFile, listDir, viewImage, grepFiles, fileSearch, applyPatch, exec,
 * updatePlan. Throws a ToolscriptUsageError for invalid options, such as a root that is missing or not a folder.
 */
export function codingTools({ exec, shell = false, documents, flow, ...workspaceOptions }: CodingToolsOptions): Tool[] {
  const workspace = createWorkspace(workspaceOptions);
  const tools = [
    readFileTool(workspace),
    documents === undefined ? writeFileTool(workspace) : writeFileOrKeyTool(workspace, documents),
    listDirTool(workspace),
    viewImageTool(workspace),
    grepFilesTool(workspace),
    fileSearchTool(workspace),
    applyPatchTool(workspace),
    ...(exec === false ? [] : commandTools(workspace, exec, shell)),
    updatePlanTool(),
  ];
  return flow === undefined ? tools : guardDestinations(tools);
}

/** The tools `exec` and `shell`, which share one sandbox. */
function commandTools(workspace: Workspace, options: ExecOptions | undefined, shell: boolean): Tool[] {
  const run = createExec(workspace, options);
  return [execTool(workspace, options, run), ...(shell ? [shellTool(workspace, options, run)] : [])];
}
