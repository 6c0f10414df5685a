import type { Tool } from '#core/protocol/index.js';
import { businessTools } from './world/business.js';
import { crmTools } from './world/crm.js';
import { fileTools } from './world/files.js';
import { foreignTools } from './world/foreign.js';
import { githubTools } from './world/github.js';
import { serviceTools } from './world/services.js';

/** The independent parts of the world. */
export const WORLD: readonly (() => Tool[])[] = [
  fileTools,
  githubTools,
  crmTools,
  businessTools,
  serviceTools,
  foreignTools,
];

/**
 * The tools that the checker's scripts use. They answer from memory, and give equal answers to equal calls. Worlds
 * share no data, and have no clock. Some tools have no output schema, so their results are `any`.
 */
export function makeWorld(): Tool[] {
  return WORLD.flatMap((makeTools) => makeTools());
}
