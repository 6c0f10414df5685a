export { openConvexProjection, type ConvexProjectionOptions } from './convex-projection.js';
export type { ProjectedItem, ProjectedRun, Projection } from './projection.js';
export { RunProjector } from './run-projector.js';
