export * from './gate.js';
export { findApprovalRule, readPolicy } from './policy.js';
export { renderForPerson, type RenderOptions } from './render.js';
