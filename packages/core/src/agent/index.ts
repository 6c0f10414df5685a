export { AgentConfigSchema, defineAgent, type AgentConfig, type AgentInput } from './agent-config.js';
export { createAgentRegistry, defaultAgents, type AgentRegistry, type DefaultModels } from './agent-registry.js';
export { resumeAgent, runAgent, userMessage, type ResumeAgentOptions, type RunAgentOptions } from './run-agent.js';
export { extendHistory } from './run-log.js';
