export {
  createScriptCaller,
  createScriptTool,
  type AiSdkScriptCaller,
  type AiSdkScriptTool,
  type ScriptToolOptions,
  type ScriptToolCallOptions,
} from './script-tool.js';
export type { ScriptToolApproval } from './tool-approval.js';
