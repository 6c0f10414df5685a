export {
  argumentSources,
  type ArgumentSource,
  type ArgumentSources,
  type EarlierCall,
} from '../text/argument-sources.js';
export { provenanceLines, type ProvenanceLine } from './provenance-lines.js';
export { firstUntrusted, scriptOrigin } from './script-origin.js';
export { readFilePart } from './files.js';
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
export { RunItems, runItems } from './run-items.js';
export type { LiveActivity, PendingApproval, ToolCallStart } from './response-fold.js';
export { cutToTokens, estimateTokens } from './bounded-text.js';
export { ProgramFold, programScope, scopeLine, scopeText, type ProgramScope } from './program-scope.js';
