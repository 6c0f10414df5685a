import type { Tool } from '#core/protocol/index.js';
import { businessTools } from './world/business.js';
import { crmTools } from './world/crm.js';
import { fileTools } from './world/files.js';
import { foreignTools } from './world/foreign.js';
import { githubTools } from './world/github.js';
import { serviceTools } from './world/services.js';

/** The parts of the world, which are independent. */
export const WORLD: readonly (() => Tool[])[] = [
  fileTools,
  githubTools,
  crmTools,
  businessTools,
  serviceTools,
  foreignTools,
];

/**
 * The tools that the checker's scripts use. They answer from memory, always the same way. Worlds share no data, and
 * have no clock. Some tools have no output schema, so their results are `any`.
 */
export function makeWorld(): Tool[] {
  return WORLD.flatMap((makeTools) => makeTools());
}
