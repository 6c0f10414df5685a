import { files } from './files.mjs';
import { math } from './math.mjs';
import { messages } from './messages.mjs';
import { posts } from './posts.mjs';
import { tickets } from './tickets.mjs';
import { trading } from './trading.mjs';
import { travel } from './travel.mjs';
import { vehicle } from './vehicle.mjs';

/** @type {Readonly<Record<string, import('./schemas.mjs').Service>>} */
export const SERVICES = { files, messages, posts, tickets, math, vehicle, trading, travel };

const TOOLS = new Map(Object.values(SERVICES).flatMap(({ tools }) => tools.map((tool) => [tool.name, tool])));

/** @returns {import('./schemas.mjs').ServiceTool} */
export function serviceTool(name) {
  return TOOLS.get(name);
}
