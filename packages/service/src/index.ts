export * from './agents/index.js';
export { LOCAL_PRINCIPAL, scriptPrincipal } from './principals.js';
export type { ProjectedItem, ProjectedRun, Projection } from './projections/projection.js';
export { RunProjector } from './projections/run-projector.js';
export * from './runs/index.js';
