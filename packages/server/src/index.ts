export {
  demoAgent,
  fixedAgents,
  HarnessAgents,
  keyProblem,
  LOCAL_PRINCIPAL,
  narrowedTo,
  type AgentDirectory,
  type HarnessAgentsOptions,
  type OpenedAgent,
  type ProjectedItem,
  type ProjectedRun,
  type Projection,
  type RunChoices,
  type ServedAgent,
} from '@toolscript/service';
export * from './access/index.js';
export * from './http/index.js';
export { openConvexProjection, type ConvexProjectionOptions } from './projections/index.js';
