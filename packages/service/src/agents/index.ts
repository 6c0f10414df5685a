export {
  allowedModels,
  fixedAgents,
  keyProblem,
  type AgentDirectory,
  type OpenedAgent,
  type RunChoices,
  type ServedAgent,
} from './agent-directory.js';
export { demoAgent } from './demo-agent.js';
export { agentNeed } from './worker-groups.js';
export { HarnessAgents, narrowedTo, type HarnessAgentsOptions } from './harness-agents.js';
