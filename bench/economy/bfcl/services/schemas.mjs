/** Schemas of arguments and results, as short as they can be written. */

export const text = (description, more) => ({ type: 'string', description, ...more });
export const number = (description, more) => ({ type: 'number', description, ...more });
export const whole = (description, more) => ({ type: 'integer', description, ...more });
export const flag = (description, more) => ({ type: 'boolean', description, ...more });
export const list = (items, description, more) => ({ type: 'array', items: { type: items }, description, ...more });
export const rows = (properties, description) => ({ type: 'array', items: object(properties), description });

/** An object of named members; those with a default, and those that are listed as optional, may be omitted. */
export function object(properties, { optional = [], ...more } = {}) {
  const required = Object.keys(properties).filter(
    (name) => !optional.includes(name) && properties[name].default === undefined,
  );
  return { type: 'object', properties, ...(required.length === 0 ? {} : { required }), ...more };
}

/**
 * A service: its state, and tools over it.
 *
 * @typedef {object} Service
 * @property {string} about The start of every description, as in the data set.
 * @property {(initial?: any) => any} open Creates the state from the differences to the default.
 * @property {readonly ServiceTool[]} tools
 *
 * @typedef {object} ServiceTool
 * @property {string} name
 * @property {string} does The description, after `about`.
 * @property {object} takes Schemas by argument.
 * @property {object} gives Schemas by member of the result.
 * @property {(state: any, args: any) => object} run
 * @property {string} [as] The variable of a script for the result. Default: no script reads the result.
 * @property {boolean} [changes] It changes something although scripts read its result. Tools without `as` change something
 *   too.
 * @property {boolean} [isPassedOn] If a later call uses the result, the model does not read it.
 * @property {readonly string[]} [mayLack] Members of the result that may be absent.
 */
