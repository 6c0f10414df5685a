export {
  commandRules,
  fullPreset,
  readOnlyPreset,
  workspaceWritePreset,
  type CommandRules,
} from './approval-presets.js';
export { cabinetTools, type CabinetToolsOptions } from './cabinet/cabinet-tools.js';
export { documentText } from './cabinet/document-text.js';
export { codingTools, type CodingToolsOptions } from './coding-tools.js';
export type { DocumentOwner, ScopeName } from './documents/scopes.js';
export { storedTexts } from './documents/stored-texts.js';
export { execTool, type ExecOptions } from './exec/exec.js';
export { checkExecSandbox } from './exec/sandbox/check.js';
export type { SandboxRefusal } from './exec/sandbox/requirements.js';
export { shellTool } from './exec/shell.js';
export type { FailureReason } from './failure.js';
export { listDirTool } from './files/list-dir.js';
export { PROTECTED_NAMES } from './files/protected-names.js';
export { readFileTool } from './files/read-file.js';
export {
  availableVerification,
  createWorkspace,
  type RootOption,
  type Verification,
  type Workspace,
  type WorkspaceOptions,
  type WorkspaceRoot,
} from './files/workspace.js';
export { writeFileTool } from './files/write-file.js';
export { imageHeader, type ImageHeader } from './media/image-header.js';
export { loadImage, viewImageTool, type ImageReference, type ViewImageResult } from './media/view-image.js';
export { applyPatch, applyPatchTool, type ApplyPatchOptions, type ApplyPatchResult } from './patch/apply-patch.js';
export type { PatchChange } from './patch/planner.js';
export { updatePlanTool } from './plan/update-plan.js';
export { readPromptFolder, type PromptFile, type PromptFolderOptions } from './prompts/prompt-files.js';
export { loadPrompt, type LoadedPrompt, type PromptLibrary, type PromptReference } from './prompts/prompt-library.js';
export { promptTools } from './prompts/prompt-tools.js';
export { suggestRules, type RuleSuggestion } from './rule-suggestion.js';
export { fileSearchTool } from './search/file-search.js';
export { grepFilesTool } from './search/grep-files.js';
export {
  listSnippets,
  loadSnippetTools,
  readSnippet,
  type SnippetInfo,
  type SnippetLibrary,
  type SnippetReference,
} from './snippets/snippet-library.js';
export { snippetTools } from './snippets/snippet-tools.js';
export { fileWebCache, memoryWebCache, type CacheBounds, type CachedPage, type WebCache } from './web/cache.js';
export type { ResolveHost } from './web/guard.js';
export type { WebLimits } from './web/limits.js';
export { webTools, type WebToolsOptions } from './web/web-tools.js';
export { ChangeRecords, type ChangeRecordOptions } from './files/change-records.js';
export type { UndoDirection } from './undo/active-records.js';
export type { UndoFile, UndoGap, UndoPlan, UndoProblem, UndoRefusal, UndoRefusalCode } from './undo/plan-undo.js';
export { conflictRefusal, planUndo, undoChanges, type UndoOptions } from './undo/undo-changes.js';
