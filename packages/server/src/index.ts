export * from './access/index.js';
export * from './agents/index.js';
export * from './http/index.js';
export { LOCAL_PRINCIPAL } from './runs/index.js';
export {
  openConvexProjection,
  type ConvexProjectionOptions,
  type ProjectedItem,
  type ProjectedRun,
  type Projection,
} from './projections/index.js';
