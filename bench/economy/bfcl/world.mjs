import { defineTool } from '@toolscript/core';
import { object } from './services/schemas.mjs';
import { SERVICES } from './services/index.mjs';

/**
 * @typedef {object} Docs
 * @property {boolean} [results] Members of results are described, as they are in the data set. Default true.
 * @property {boolean} [everyOpening] Every tool's description begins with the one of its service, as in the data set,
 * not only the first tool's. Default true.
 */

/**
 * New instances of the services of a task: their tools, and the calls to them.
 *
 * @param {import('./tasks.mjs').BfclTask} task
 * @param {Docs} [docs]
 */
export function openWorld({ classes, initial }, { results = true, everyOpening = true } = {}) {
  const made = [];
  const tools = classes.flatMap((name) => {
    const { about, open, tools: known } = SERVICES[name];
    const state = open(initial[name]);
    return known.map((tool, index) =>
      defineTool({
        ...declared(tool, results),
        description: everyOpening || index === 0 ? `${about} ${tool.does}` : tool.does,
        execute: (args) => {
          made.push({ tool: tool.name, args });
          return tool.run(state, args);
        },
      }),
    );
  });
  return { tools, made };
}

function declared({ name, takes, gives, mayLack, as, changes }, resultDocs) {
  const outputSchema = object(gives, { optional: mayLack });
  return {
    name,
    inputSchema: object(takes),
    outputSchema: resultDocs ? outputSchema : withoutDocs(outputSchema),
    effect: as === undefined || changes ? 'external' : 'read',
    approval: 'never',
  };
}

function withoutDocs({ type, properties, required, items }) {
  if (items !== undefined) return { type, items: withoutDocs(items) };
  if (properties === undefined) return { type };
  const members = Object.entries(properties).map(([name, schema]) => [name, withoutDocs(schema)]);
  return { type, properties: Object.fromEntries(members), ...(required === undefined ? {} : { required }) };
}
