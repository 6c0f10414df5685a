/** UNSTABLE, like `internal`. It loads no package, for threads that must start fast. */
export { INVISIBLE_CHARACTERS } from './protocol/invisible.js';
export { isRecord, JsonMeasure, jsonTextProblem, MESSAGE_LIMITS } from './protocol/json.js';
