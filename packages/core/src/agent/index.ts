export { modelSettings } from './model-settings.js';
export {
  AgentConfigSchema,
  agentService,
  defineAgent,
  keyVariable,
  modelReferences,
  type AgentConfig,
  type AgentInput,
  type ModelReference,
  type Prices,
} from './agent-config.js';
export { createAgentRegistry, defaultAgents, type AgentRegistry, type DefaultModels } from './agent-registry.js';
export { fileAnnouncement } from './file-announcement.js';
export { billedTokens, usageCost } from './cost.js';
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
export { agentBeginning, type AgentBeginning, type Announcement, type BeginningOptions } from './agent-beginning.js';
export { newScriptNonce } from './script-nonce.js';
export { RunInterruption } from '../protocol/run-interruption.js';
export { SCRIPT_TOOL } from '../text/script-tool.js';
export { extendHistory } from './run-log.js';
export { answerSchema, schemaProblem, type AnswerSchema, type CheckedAnswer } from './answer-schema.js';
export { HarmlessScripts } from './harmless-scripts.js';
export { FinalText } from './final-text.js';
export { createSubAgents, exposeAlso, type SubAgentOptions, type SubAgents } from './sub-agents/sub-agents.js';
export type { ChatPorts, OpenedChatModel } from './sub-agents/chat.js';
export type { ChildReport, ChildStatus } from './sub-agents/child-run.js';
export type { OpenedSubAgent } from './sub-agents/run-agents.js';
export type { AgentScope, SubAgentHost } from './sub-agent-host.js';
