/**
 * The part of the library that a client of a run's stream needs, and the detector of scripts. It loads no module of Node
 * and no package, so that a page or a Worker can load it.
 */
export { provenanceLines, type ProvenanceLine } from '../history/provenance-lines.js';
export { argumentSources, type ArgumentSource, type ArgumentSources } from '../text/argument-sources.js';
export { foldResponse, ResponseReducer } from '../history/reducer.js';
export type { ResponseReducerOptions, ResponseViewOptions } from '../history/reducer.js';
export { threadMarkdown, type ThreadHead } from '../history/thread-markdown.js';
export type { LiveActivity, PendingApproval, ToolCallStart } from '../history/response-fold.js';
export type { EventPayload, OutputItem, Response, StreamEvent } from '../protocol/index.js';
export { subAgentEvent, endsRun } from '../protocol/run-events.js';
export { ATTACHED_FILE_TAG, MAX_FILE_BYTES, MAX_FILES } from '../protocol/attached-file.js';
export { DECISION_GUARD_MS } from '../protocol/decision-guard.js';
export { INVISIBLE_CHARACTERS } from '../protocol/invisible.js';
export { SCRIPT_TOOL } from '../text/script-tool.js';
export { JsonTextMember } from '../text/json-text-member.js';
export { SseParser, type SseEvent } from '../text/sse.js';
export { createDetector, type Detector, type DetectorEvent, type DetectorOptions } from '../script/detect/detector.js';
