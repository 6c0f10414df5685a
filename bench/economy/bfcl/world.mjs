import { defineTool } from '@toolscript/core';
import { object } from './services/schemas.mjs';
import { SERVICES } from './services/index.mjs';

/**
 * The services of a task, opened anew: their tools, and the calls that were made of them.
 *
 * @param {import('./tasks.mjs').BfclTask} task
 * @param {{ resultDocs?: boolean }} [options] `resultDocs`: whether members of results are described. Default true, as
 * in the data set.
 */
export function openWorld({ classes, initial }, { resultDocs = true } = {}) {
  const made = [];
  const tools = classes.flatMap((name) => {
    const { about, open, tools: known } = SERVICES[name];
    const state = open(initial[name]);
    return known.map((tool) =>
      defineTool({
        ...declared(tool, about, resultDocs),
        execute: (args) => {
          made.push({ tool: tool.name, args });
          return tool.run(state, args);
        },
      }),
    );
  });
  return { tools, made };
}

function declared({ name, does, takes, gives, mayLack, as, changes }, about, resultDocs) {
  const outputSchema = object(gives, { optional: mayLack });
  return {
    name,
    description: `${about} ${does}`,
    inputSchema: object(takes),
    outputSchema: resultDocs ? outputSchema : withoutDocs(outputSchema),
    effect: as === undefined || changes ? 'external' : 'read',
    approval: 'never',
  };
}

function withoutDocs(schema) {
  if (Array.isArray(schema) || typeof schema !== 'object' || schema === null) return schema;
  const { description: _, properties, ...others } = schema;
  const inner = Object.fromEntries(Object.entries(others).map(([name, value]) => [name, withoutDocs(value)]));
  if (properties === undefined) return inner;
  const members = Object.entries(properties).map(([name, value]) => [name, withoutDocs(value)]);
  return { ...inner, properties: Object.fromEntries(members) };
}
