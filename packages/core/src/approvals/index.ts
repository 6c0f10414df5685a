export * from './gate.js';
export { readPolicy } from './policy.js';
export { renderForPerson, type RenderOptions } from './render.js';
