export type { EventPayload, LiveActivity, OutputItem, Response, StreamEvent } from '@toolscript/core/stream';
export {
  createClient,
  type Client,
  type ClientOptions,
  type RequestOptions,
  type SubmitOptions,
} from './create-client.js';
export type { Retry, StreamOptions } from './event-stream.js';
export type { LiveResponse } from './live-response.js';
export { ProblemError, type Problem } from './problem-error.js';
export type * from './types.js';
