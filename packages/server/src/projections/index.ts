export { openConvexProjection, type ConvexProjectionOptions } from './convex-projection.js';
