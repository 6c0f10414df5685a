export {
  createScriptTool,
  type AiSdkScriptTool,
  type ScriptToolOptions,
  type ScriptToolCallOptions,
} from './script-tool.js';
