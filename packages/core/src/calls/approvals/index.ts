export * from './gate.js';
export { findApprovalRule, readPolicy } from './policy.js';
export { renderForPerson } from './render.js';
