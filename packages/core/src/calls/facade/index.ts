export { idempotencyKey } from './call-exchange.js';
export { callIdIndex, inCallOrder } from './call-ids.js';
export { abortedCall, endOfAborted, unknownEnd, unknownEndMessage } from './call-errors.js';
export { createFacade } from './facade.js';
export type * from './facade-types.js';
export { LargeResults } from './large-results.js';
