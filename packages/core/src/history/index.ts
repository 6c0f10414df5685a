export { collectImages, resolveImages } from './images.js';
export type { ModelPart } from '../protocol/index.js';
export type { CollectedImages, ImageSources, LoadImage } from './images.js';
export * from './model-report.js';
export * from './outcome-items.js';
export * from './reducer.js';
export { runItems } from './run-items.js';
export type { LiveActivity, PendingApproval, ToolCallStart } from './response-fold.js';
export { cutToTokens, estimateTokens } from './token-budget.js';
