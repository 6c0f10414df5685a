export { modelSettings } from './model-settings.js';
export {
  AgentConfigSchema,
  defineAgent,
  keyVariable,
  type AgentConfig,
  type AgentInput,
  type Prices,
} from './agent-config.js';
export { createAgentRegistry, defaultAgents, type AgentRegistry, type DefaultModels } from './agent-registry.js';
export { fileAnnouncement } from './file-announcement.js';
export { billedTokens, costOf } from './cost.js';
export {
  recoverRun,
  resumeAgent,
  resumeRun,
  runAgent,
  userMessage,
  type RecoverRunOptions,
  type ResumeAgentOptions,
  type ResumeRunOptions,
  type RunAgentOptions,
} from './run-agent.js';
export { agentSystem } from './offered-tools.js';
export { SCRIPT_TOOL } from '../protocol/script-tool.js';
export { extendHistory } from './run-log.js';
