export { argumentSources, type ArgumentSource, type ArgumentSources, type EarlierCall } from './argument-sources.js';
export { collectImages, resolveImages } from './images.js';
export type { ModelPart } from '../protocol/index.js';
export type { CollectedImages, ImageSources, LoadImage } from './images.js';
export {
  countOperations,
  numberOperations,
  renderOperations,
  renderOutcomeForModel,
  renderOutcomeParts,
  type ModelReportOptions,
  type NumberedOperation,
} from './model-report.js';
export { operationToOutputItem, outcomeToOutputItem, type OutputItemIdentity } from './outcome-items.js';
export {
  foldResponse,
  foldResponseAsync,
  ResponseReducer,
  type ResponseReducerOptions,
  type ResponseViewOptions,
} from './reducer.js';
export { runItems } from './run-items.js';
export type { LiveActivity, PendingApproval, ToolCallStart } from './response-fold.js';
export { cutToTokens, estimateTokens } from './bounded-text.js';
