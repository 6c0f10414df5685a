export { parseJson } from './json-text.js';
export { compileJsonSchema } from './json-schema.js';
export { isObjectResult, judgeKnown } from './known-values.js';
export { createObservedShapes } from './observed-shapes.js';
export type { StandardSchema } from './standard-schema.js';
