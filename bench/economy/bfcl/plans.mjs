import { calls, oneByOne, script } from '../turns.mjs';
import { scriptOf } from './script-of.mjs';
import { serviceTool } from './services/index.mjs';

/** A model's output in one turn of the user, before its final text. All ways make the same calls. */
export const PLANS = {
  one: (turn) => oneByOne(turn.map(structured)),
  parallel: (turn) => groupsOf(turn).map((group) => calls(...group.map(structured))),
  scripts: (turn) => partsOf(turn).map((part) => script(scriptOf(part))),
};

function structured({ tool, args }) {
  return [tool, args];
}

/**
 * Groups of calls that fit into one request: all calls whose arguments and conditions are known before it. The calls of
 * an answer run in their order, so a call that only needs the effect of another belongs to the same request. No call
 * with an effect is moved before another.
 */
export function groupsOf(turn) {
  const groups = [];
  const places = [];
  for (const call of turn) {
    const needed = Math.max(0, ...neededBy(call, places.length).map((index) => places[index] + 1));
    const place = changes(call) ? Math.max(needed, groups.length - 1, 0) : needed;
    places.push(place);
    (groups[place] ??= []).push(call);
  }
  return groups;
}

/** The earlier calls of the turn whose results a call needs. */
function neededBy({ flows = {}, when = '', look = false }, count) {
  if (look) return Array.from({ length: count }, (_, index) => index);
  const found = [...Object.values(flows), when].join(' ').matchAll(/\$(\d)/gu);
  return [...found].map(([, index]) => Number(index));
}

function changes({ tool }) {
  const { as, changes: does = false } = serviceTool(tool);
  return as === undefined || does;
}

/** The calls of each script. A new script begins where the model must have read the earlier results. */
function partsOf(turn) {
  const parts = [];
  for (const call of turn) {
    if (parts.length === 0 || call.look === true) parts.push([]);
    parts.at(-1).push(call);
  }
  return parts;
}
